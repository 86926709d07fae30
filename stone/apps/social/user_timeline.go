package social

import (
	"context"
	"errors"
	"slices"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

// userTimeline keeps what each user posted: documents, and Redis as a cache over them. Redis is believed only where it
// says that it has a user's whole timeline, which makes short timelines and users without posts as cheap to read as
// long ones:
//
//   - The mark of that, a key beside the timeline, is set together with the whole timeline from the store, and lost
//     together with it when Redis starts anew or is emptied (it keeps nothing on disk).
//   - A post is put into the store, then into Redis. One that is put there while another call copies the timeline may
//     be missing in the copy, but then puts itself into Redis: neither takes anything away, so their order does not
//     matter. A post counts as written only after both.
//   - A copy that Redis was restarted under would come after posts that were written meanwhile, and lost. It is written
//     on the connection that watched the mark before the store was read, or not at all.
type userTimeline struct {
	timelines documents.Collection
	cache     *goredis.Client // user id -> sorted set of post ids by timestamp
	posts     idl.PostStorageService
	quirks    bool
}

func startUserTimeline(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	cache, err := host.OpenRedis("redis-user-timeline")
	if err != nil {
		return err
	}
	posts, err := host.DialThrift("post-storage")
	if err != nil {
		return err
	}
	prepareIndexes(host, store, data.UserTimelines)
	host.Thrift = idl.NewUserTimelineServiceProcessor(&userTimeline{
		timelines: data.UserTimelines.In(store), cache: cache, posts: idl.NewPostStorageServiceClient(posts),
		quirks: host.Config.Quirks,
	})
	return nil
}

func (t *userTimeline) WriteUserTimeline(ctx context.Context, _, postID, userID, timestamp int64, _ map[string]string) error {
	entry := data.Entry{PostID: postID, Timestamp: timestamp}
	if err := t.timelines.Push(ctx, documents.Equal("user_id", userID), "posts", entry, "post_id"); err != nil {
		return storeFailed(err)
	}
	return redisFailed(t.cache.ZAddNX(ctx, timelineKey(userID), members([]data.Entry{entry})...).Err())
}

// ReadUserTimeline returns the posts from start up to, not including, stop, counted from the newest.
func (t *userTimeline) ReadUserTimeline(ctx context.Context, reqID, userID int64, start, stop int32, carrier map[string]string) ([]*idl.Post, error) {
	if empty, err := checkWindow(start, stop, t.quirks); empty || err != nil {
		return []*idl.Post{}, err
	}
	if t.quirks {
		return t.readPublished(ctx, reqID, userID, start, stop, carrier)
	}
	ids, err := t.window(ctx, userID, int(start), int(stop))
	if err != nil {
		return nil, err
	}
	posts, err := t.posts.ReadPosts(ctx, reqID, ids, carrier)
	return posts, neighbourFailed(err)
}

// window returns the ids of a part of a timeline.
func (t *userTimeline) window(ctx context.Context, userID int64, start, stop int) ([]int64, error) {
	var held *goredis.StringSliceCmd
	var whole *goredis.IntCmd
	// Both at one moment: what is held does not count if it is lost before the mark is looked at.
	_, err := t.cache.TxPipelined(ctx, func(pipeline goredis.Pipeliner) error {
		held = pipeline.ZRevRange(ctx, timelineKey(userID), int64(start), int64(stop)-1)
		whole = pipeline.Exists(ctx, wholeKey(userID))
		return nil
	})
	if err != nil {
		return nil, redisFailed(err)
	}
	if whole.Val() > 0 {
		return idsOf(held.Val())
	}
	entries, err := t.refill(ctx, userID)
	if err != nil {
		return nil, err
	}
	entries = entries[min(start, len(entries)):min(stop, len(entries))]
	return entryIDs(entries), nil
}

// refill copies a timeline from the store to Redis and returns it, the newest first.
func (t *userTimeline) refill(ctx context.Context, userID int64) ([]data.Entry, error) {
	var timeline data.Timeline
	read := func() error {
		err := t.timelines.Get(ctx, &timeline, documents.Equal("user_id", userID))
		if errors.Is(err, documents.ErrNotFound) { // nothing posted yet
			return nil
		}
		return storeFailed(err)
	}
	err := refill(ctx, t.cache, wholeKey(userID), read, func(pipeline goredis.Pipeliner) {
		if len(timeline.Posts) > 0 {
			pipeline.ZAddNX(ctx, timelineKey(userID), members(timeline.Posts)...)
		}
		pipeline.Set(ctx, wholeKey(userID), 1, 0)
	})
	slices.SortFunc(timeline.Posts, data.NewestFirst)
	return timeline.Posts, err
}

func timelineKey(userID int64) string { return strconv.FormatInt(userID, 10) }

func wholeKey(userID int64) string { return timelineKey(userID) + ":whole" }

func members(entries []data.Entry) []goredis.Z {
	set := make([]goredis.Z, len(entries))
	for i, entry := range entries {
		set[i] = goredis.Z{Score: float64(entry.Timestamp), Member: entry.PostID}
	}
	return set
}

func entryIDs(entries []data.Entry) []int64 {
	ids := make([]int64, len(entries))
	for i, entry := range entries {
		ids[i] = entry.PostID
	}
	return ids
}
