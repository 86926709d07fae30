package social

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/exceptions"
	"loadstone.dev/stone/platform/service"
)

// cacheWrites bounds how many posts of one answer are put into the cache at a time.
const cacheWrites = 16

// postStorage keeps posts. A post never changes, so what the cache holds is right for ever; it is put there when it is
// read from the store, not when it is stored, as published.
type postStorage struct {
	posts  documents.Collection
	cache  *service.Cached // post id -> JSON of its document
	quirks bool
}

func startPostStorage(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	cache, err := host.OpenCache("memcached-post-storage")
	if err != nil {
		return err
	}
	s := &postStorage{posts: data.Posts.In(store), cache: cache, quirks: host.Config.Quirks}
	prepareIndexes(host, store, data.Posts)
	host.Thrift = idl.NewPostStorageServiceProcessor(s)
	return nil
}

func (s *postStorage) StorePost(ctx context.Context, _ int64, post *idl.Post, _ map[string]string) error {
	err := s.posts.Insert(ctx, postDocument(post))
	if errors.Is(err, documents.ErrDuplicate) {
		return exception.Conflict("there is a post %d already", post.PostID)
	}
	return exception.DocumentsFailed(err)
}

func (s *postStorage) ReadPost(ctx context.Context, _, id int64, _ map[string]string) (*idl.Post, error) {
	found, err := s.find(ctx, []int64{id})
	if err != nil {
		return nil, err
	}
	post, is := found[id]
	if !is {
		return nil, exception.NotFound("there is no post %d", id)
	}
	return post, nil
}

// ReadPosts returns posts in the order of their ids. An id without a post, which a timeline has where a post was taken
// back, is left out, and one that is requested twice is returned twice.
//
// Quirk: both are errors.
func (s *postStorage) ReadPosts(ctx context.Context, _ int64, ids []int64, _ map[string]string) ([]*idl.Post, error) {
	posts := make([]*idl.Post, 0, len(ids))
	if len(ids) == 0 {
		return posts, nil
	}
	wanted := distinct(ids)
	if s.quirks && len(wanted) < len(ids) {
		return nil, exception.Exception(exceptions.Handler, "Post_ids are duplicated")
	}
	found, err := s.find(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if s.quirks && len(found) < len(wanted) {
		return nil, exception.Exception(exceptions.Handler, "Return set incomplete")
	}
	for _, id := range ids {
		if post, is := found[id]; is {
			posts = append(posts, post)
		}
	}
	return posts, nil
}

// find looks different ids up in the cache, all at once, then those that it does not hold in the store, and puts what it
// finds there into the cache.
func (s *postStorage) find(ctx context.Context, ids []int64) (map[int64]*idl.Post, error) {
	found := make(map[int64]*idl.Post, len(ids))
	held := s.cache.Get(ctx, texts(ids))
	var missing []int64
	for _, id := range ids {
		var post data.Post
		if json.Unmarshal(held[strconv.FormatInt(id, 10)], &post) == nil {
			found[id] = postMessage(post)
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	var stored []data.Post
	query := documents.Query{Where: []documents.Condition{documents.In("post_id", missing)}}
	if err := s.posts.Find(ctx, &stored, query); err != nil {
		return nil, exception.DocumentsFailed(err)
	}
	for _, post := range stored {
		found[post.PostID] = postMessage(post)
	}
	return found, s.remember(ctx, stored)
}

func (s *postStorage) remember(ctx context.Context, posts []data.Post) error {
	var writing errgroup.Group
	writing.SetLimit(cacheWrites)
	for _, post := range posts {
		writing.Go(func() error {
			encoded, err := json.Marshal(post)
			if err == nil {
				s.cache.Set(ctx, strconv.FormatInt(post.PostID, 10), encoded)
			}
			return err
		})
	}
	return writing.Wait()
}

// prepareIndexes makes the indexes of a collection in the background, as its store may not be there yet.
func prepareIndexes(host *service.Host, store documents.Store, of documents.Location) {
	host.Prepare("indexes", func(ctx context.Context) error {
		var failures []error
		for _, index := range data.Indexes(of, host.Config.Quirks) {
			failures = append(failures, of.In(store).EnsureIndex(ctx, index.Field, index.Unique))
		}
		return errors.Join(failures...)
	})
}

// distinct is the ids in ascending order, each once.
func distinct(ids []int64) []int64 { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// texts is ids as decimal texts, as caches and Redis name them.
func texts(ids []int64) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = strconv.FormatInt(id, 10)
	}
	return names
}
