// Package timeline keeps, for each of many owners, a list of ids, the newest first: in a document store, and in Redis as
// a copy of it.
//
// Redis is believed only where it says that it has an owner's whole list, which makes lists that are short or empty as
// cheap to read as long ones:
//
//   - The mark of that, a key beside the list, is set together with the whole list from the store, and lost together with
//     it when Redis starts anew or is emptied (it keeps nothing on disk).
//   - An entry is put into the store, then into Redis. One that is put there while another call copies the list may be
//     missing in the copy, but then puts itself into Redis: neither takes anything away, so their order does not matter.
//     An entry counts as written only after both.
//   - A copy that Redis was restarted or emptied under would come after entries that were written meanwhile, and lost. It
//     is written on the connection that watched the list before the store was read, and only if nothing was put there
//     since, or not at all.
package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"loadstone.dev/stone/platform/documents"
)

// ErrRedis: Redis failed. Other errors are of the document store.
var ErrRedis = errors.New("redis")

// Entry is what a list has: an id, and since when (milliseconds since 1970), which is the same whenever it is written.
type Entry struct{ ID, Timestamp int64 }

// Document is one owner's list as a store keeps it.
type Document interface{ Entries() []Entry }

// Lists are the lists of all owners, each a document of type D.
type Lists[D Document] struct {
	Documents documents.Collection
	Redis     *goredis.Client // owner -> sorted set of ids by timestamp
	Owner     string          // the field of a document that says whose list it is
	Array     string          // the field with the entries
	ID        string          // the field of an entry with its id
	Element   func(Entry) any // an entry as the store keeps it
}

// Write adds an entry to the list of an owner (a text or an int64), once.
func (l *Lists[D]) Write(ctx context.Context, owner any, entry Entry) error {
	if err := l.store(ctx, owner, entry); err != nil {
		return err
	}
	return redisFailed(l.Redis.ZAddNX(ctx, key(owner), members(entry)...).Err())
}

func (l *Lists[D]) store(ctx context.Context, owner any, entry Entry) error {
	return l.Documents.Push(ctx, documents.Equal(l.Owner, owner), l.Array, l.Element(entry), l.ID)
}

// Read returns the ids from start up to, not including, stop, counted from the newest.
func (l *Lists[D]) Read(ctx context.Context, owner any, start, stop int) ([]int64, error) {
	if stop <= start { // Redis would take the end 0 for the last element
		return ids(nil), nil
	}
	var held *goredis.StringSliceCmd
	var whole *goredis.IntCmd
	// Both at one moment: what is held does not count if it is lost before the mark is looked at.
	_, err := l.Redis.TxPipelined(ctx, func(pipeline goredis.Pipeliner) error {
		held = pipeline.ZRangeArgs(ctx, newest(owner, start, stop))
		whole = pipeline.Exists(ctx, mark(owner))
		return nil
	})
	if err != nil {
		return nil, redisFailed(err)
	}
	if whole.Val() > 0 {
		return parse(held.Val())
	}
	entries, err := l.refill(ctx, owner)
	if err != nil {
		return nil, err
	}
	return ids(entries[min(start, len(entries)):min(stop, len(entries))]), nil
}

// refill copies a list from the store to Redis and returns it, the newest first.
func (l *Lists[D]) refill(ctx context.Context, owner any) (entries []Entry, err error) {
	var stored error
	err = l.Redis.Watch(ctx, func(tx *goredis.Tx) error {
		if entries, stored = l.stored(ctx, owner); stored != nil {
			return stored
		}
		_, err := tx.TxPipelined(ctx, func(pipeline goredis.Pipeliner) error {
			if len(entries) > 0 {
				pipeline.ZAddNX(ctx, key(owner), members(entries...)...)
			}
			pipeline.Set(ctx, mark(owner), 1, 0)
			return nil
		})
		if errors.Is(err, goredis.TxFailedErr) { // another call was faster; what was read is right
			return nil
		}
		return err
	}, mark(owner), key(owner))
	if stored != nil {
		return nil, stored
	}
	slices.SortFunc(entries, NewestFirst)
	return entries, redisFailed(err)
}

// stored is a list in the order of the store, which is that of writing. An owner without a document has an empty list.
func (l *Lists[D]) stored(ctx context.Context, owner any) ([]Entry, error) {
	var document D
	err := l.Documents.Get(ctx, &document, documents.Equal(l.Owner, owner))
	if errors.Is(err, documents.ErrNotFound) {
		return nil, nil
	}
	return document.Entries(), err
}

// NewestFirst orders a list. Of entries of one millisecond the one whose id comes later as a text is the newer: so
// orders Redis the members of a sorted set, and of two ids from one generator that is the newer one.
func NewestFirst(a, b Entry) int {
	return cmp.Or(cmp.Compare(b.Timestamp, a.Timestamp),
		strings.Compare(strconv.FormatInt(b.ID, 10), strconv.FormatInt(a.ID, 10)))
}

// newest is the part of a sorted set from start up to, not including, stop, counted from the newest.
func newest(owner any, start, stop int) goredis.ZRangeArgs {
	return goredis.ZRangeArgs{Key: key(owner), Start: start, Stop: stop - 1, Rev: true}
}

func key(owner any) string { return fmt.Sprint(owner) }

// mark is a key that no owner has, as no text in a store has a NUL.
func mark(owner any) string { return key(owner) + "\x00whole" }

func members(entries ...Entry) []goredis.Z {
	set := make([]goredis.Z, len(entries))
	for i, entry := range entries {
		set[i] = goredis.Z{Score: float64(entry.Timestamp), Member: entry.ID}
	}
	return set
}

func ids(entries []Entry) []int64 {
	list := make([]int64, len(entries))
	for i, entry := range entries {
		list[i] = entry.ID
	}
	return list
}

func parse(members []string) ([]int64, error) {
	list := make([]int64, len(members))
	for i, member := range members {
		id, err := strconv.ParseInt(member, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is not an id", ErrRedis, member)
		}
		list[i] = id
	}
	return list, nil
}

func redisFailed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrRedis, err)
}
