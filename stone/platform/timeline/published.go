package timeline

import (
	"context"
	"errors"
	"slices"

	"loadstone.dev/stone/platform/documents"
)

// WriteLooking is Write with the reads of one published application: the list in the document store before it
// is written, and for its length in Redis before that is. Neither decides anything but, by whereHeld, whether Redis is
// written to.
//
// Quirk (whereHeld): a list of which Redis has nothing is left to its readers, who copy it.
func (l *Lists[D]) WriteLooking(ctx context.Context, owner any, entry Entry, whereHeld bool) error {
	if _, err := l.stored(ctx, owner); err != nil {
		return err
	}
	if err := l.store(ctx, owner, entry); err != nil {
		return err
	}
	held, err := l.Redis.ZCard(ctx, key(owner)).Result()
	if err != nil || whereHeld && held == 0 {
		return redisFailed(err)
	}
	return redisFailed(l.Redis.ZAddNX(ctx, key(owner), members(entry)...).Err())
}

// ReadPublished is Read as published. What it found in the store refill copies to Redis.
//
// Quirk: whatever Redis holds counts, and each read of a list that is shorter than requested reads the store, whose
// order is that of writing. A range that makes no sense is empty.
func (l *Lists[D]) ReadPublished(ctx context.Context, owner any, start, stop int) (list []int64, refill func() error, err error) {
	if start < 0 || stop <= start {
		return nil, nothing, nil
	}
	held, err := l.Redis.ZRangeArgs(ctx, newest(owner, start, stop)).Result()
	if err != nil {
		return nil, nothing, redisFailed(err)
	}
	list, err = parse(held)
	if err != nil || len(list) == stop-start {
		return list, nothing, err
	}
	var document D
	err = l.Documents.Head(ctx, &document, l.Array, stop, documents.Equal(l.Owner, owner))
	if errors.Is(err, documents.ErrNotFound) {
		return list, nothing, nil
	}
	if err != nil {
		return nil, nothing, err
	}
	entries := document.Entries()
	list = slices.Concat(list, ids(entries[min(start+len(list), len(entries)):]))
	if len(entries) == 0 {
		return list, nothing, nil
	}
	return list, func() error {
		return redisFailed(l.Redis.ZAddNX(ctx, key(owner), members(entries...)...).Err())
	}, nil
}

func nothing() error { return nil }
