package social

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/documents"
)

// readPublished reads a timeline as published.
//
// Quirk: whatever Redis holds counts, and each read of a timeline that is shorter than asked for reads the store, whose
// order is that of writing, not of the posts' times.
func (t *userTimeline) readPublished(ctx context.Context, reqID, userID int64, start, stop int32, carrier map[string]string) ([]*idl.Post, error) {
	held, err := t.cache.ZRevRange(ctx, timelineKey(userID), int64(start), int64(stop)-1).Result()
	if err != nil {
		return nil, redisFailed(err)
	}
	ids, err := idsOf(held)
	if err != nil {
		return nil, err
	}
	var timeline data.Timeline
	if len(ids) < int(stop-start) {
		err := t.timelines.Head(ctx, &timeline, "posts", int(stop), documents.Equal("user_id", userID))
		if err != nil && !errors.Is(err, documents.ErrNotFound) {
			return nil, storeFailed(err)
		}
		from := min(int(start)+len(ids), len(timeline.Posts))
		ids = append(ids, entryIDs(timeline.Posts[from:])...)
	}
	var posts []*idl.Post
	var both errgroup.Group
	both.Go(func() error {
		found, err := t.posts.ReadPosts(ctx, reqID, ids, carrier)
		posts = found
		return neighbourFailed(err)
	})
	if len(timeline.Posts) > 0 {
		both.Go(func() error {
			return redisFailed(t.cache.ZAddNX(ctx, timelineKey(userID), members(timeline.Posts)...).Err())
		})
	}
	return posts, both.Wait()
}
