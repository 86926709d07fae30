package media

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

// cacheWrites bounds how many documents of one answer are put into the cache at a time.
const cacheWrites = 16

// shelf keeps documents that are added once and read by their ids, through a cache. They are put there when they are
// read, as published.
type shelf[K int64 | string, T any] struct {
	what      string // they are, for messages
	field     string // field of the id, which is unique
	id        func(*T) K
	documents documents.Collection
	cache     *service.Cached // id -> JSON
}

func openShelf[K int64 | string, T any](ctx context.Context, host *service.Host, at documents.Location, cache, what, field string, id func(*T) K) (*shelf[K, T], error) {
	collection, err := openCollection(ctx, host, at)
	if err != nil {
		return nil, err
	}
	cached, err := host.OpenCache(cache)
	if err != nil {
		return nil, err
	}
	return &shelf[K, T]{what, field, id, collection, cached}, nil
}

// add stores a document that is not there yet.
func (s *shelf[K, T]) add(ctx context.Context, document *T) error {
	err := s.documents.Insert(ctx, document)
	if errors.Is(err, documents.ErrDuplicate) {
		return exception.Conflict("%s %v already existed", s.what, s.id(document))
	}
	return exception.DocumentsFailed(err)
}

// get is one document.
func (s *shelf[K, T]) get(ctx context.Context, id K) (*T, error) {
	found, err := s.find(ctx, []K{id})
	if err != nil {
		return nil, err
	}
	document, is := found[id]
	if !is {
		return nil, exception.NotFound("there is no %s %v", s.what, id)
	}
	return document, nil
}

// update changes a document. Who changes it at the same time is noticed by what no longer holds for the one that was
// read, and the change is made anew.
func (s *shelf[K, T]) update(ctx context.Context, id K, unchanged func(*T) documents.Condition, change func(*T) error) error {
	for replaced := false; !replaced; {
		document, err := s.stored(ctx, id)
		if err != nil {
			return err
		}
		as := unchanged(document)
		if err := change(document); err != nil {
			return err
		}
		if replaced, err = s.documents.Replace(ctx, document, documents.Equal(s.field, id), as); err != nil {
			return exception.DocumentsFailed(err)
		}
	}
	// Two updates may come to the cache in the other order than to the store, so each looks what is stored after it.
	for cached := []byte(nil); ; {
		document, err := s.stored(ctx, id)
		if err != nil {
			return err
		}
		encoded, err := json.Marshal(document)
		if err != nil || bytes.Equal(encoded, cached) {
			return err
		}
		s.cache.Set(ctx, cacheKey(fmt.Sprint(id)), encoded)
		cached = encoded
	}
}

func (s *shelf[K, T]) stored(ctx context.Context, id K) (*T, error) {
	document := new(T)
	err := s.documents.Get(ctx, document, documents.Equal(s.field, id))
	if errors.Is(err, documents.ErrNotFound) {
		return nil, exception.NotFound("there is no %s %v", s.what, id)
	}
	return document, exception.DocumentsFailed(err)
}

// list is documents in the order of their ids, without those that there are not.
func (s *shelf[K, T]) list(ctx context.Context, ids []K) ([]*T, error) {
	listed := make([]*T, 0, len(ids))
	if len(ids) == 0 {
		return listed, nil
	}
	found, err := s.find(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if document, is := found[id]; is {
			listed = append(listed, document)
		}
	}
	return listed, nil
}

// find reads all ids from the cache at once, then those that it lacks from the store.
func (s *shelf[K, T]) find(ctx context.Context, ids []K) (map[K]*T, error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = cacheKey(fmt.Sprint(id))
	}
	held := s.cache.Get(ctx, keys)
	found := make(map[K]*T, len(ids))
	var missing []K
	for i, id := range ids {
		document := new(T)
		if json.Unmarshal(held[keys[i]], document) == nil {
			found[id] = document
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	var stored []*T
	query := documents.Query{Where: []documents.Condition{documents.In(s.field, missing)}}
	if err := s.documents.Find(ctx, &stored, query); err != nil {
		return nil, exception.DocumentsFailed(err)
	}
	for _, document := range stored {
		found[s.id(document)] = document
	}
	return found, s.remember(ctx, stored)
}

// remember puts documents into the cache, unless they are there: what changes a document puts it there itself, and later
// than what was read here.
func (s *shelf[K, T]) remember(ctx context.Context, stored []*T) error {
	var writing errgroup.Group
	writing.SetLimit(cacheWrites)
	for _, document := range stored {
		writing.Go(func() error {
			encoded, err := json.Marshal(document)
			if err == nil {
				s.cache.Add(ctx, cacheKey(fmt.Sprint(s.id(document))), encoded)
			}
			return err
		})
	}
	return writing.Wait()
}

// cacheKey is a text as memcached takes it: a word as it is, blanks and the like escaped, a hash of what is long
// or empty.
func cacheKey(text string) string {
	const longest = 200
	if escaped := url.QueryEscape(text); escaped != "" && len(escaped) <= longest {
		return escaped
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
