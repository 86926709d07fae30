package social

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/exceptions"
	"loadstone.dev/stone/platform/service"
	lists "loadstone.dev/stone/platform/timeline"
)

// userTimeline keeps what each user posted.
type userTimeline struct {
	lists  *lists.Lists[data.Timeline]
	posts  idl.PostStorageService
	quirks bool
}

func startUserTimeline(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	redis, err := host.OpenRedis("redis-user-timeline", redisConnections)
	if err != nil {
		return err
	}
	posts, err := host.DialThrift("post-storage")
	if err != nil {
		return err
	}
	prepareIndexes(host, store, data.UserTimelines)
	host.Thrift = idl.NewUserTimelineServiceProcessor(&userTimeline{
		lists: data.UserTimelineLists(data.UserTimelines.In(store), redis),
		posts: idl.NewPostStorageServiceClient(posts), quirks: host.Config.Quirks,
	})
	return nil
}

func (t *userTimeline) WriteUserTimeline(ctx context.Context, _, postID, userID, timestamp int64, _ map[string]string) error {
	return listsFailed(t.lists.Write(ctx, userID, lists.Entry{ID: postID, Timestamp: timestamp}))
}

// ReadUserTimeline returns the posts from start up to, not including, stop, counted from the newest.
func (t *userTimeline) ReadUserTimeline(ctx context.Context, reqID, userID int64, start, stop int32, carrier map[string]string) ([]*idl.Post, error) {
	if empty, err := checkWindow(start, stop, t.quirks); empty || err != nil {
		return []*idl.Post{}, err
	}
	if t.quirks {
		return t.readPublished(ctx, reqID, userID, start, stop, carrier)
	}
	ids, err := t.lists.Read(ctx, userID, int(start), int(stop))
	if err != nil {
		return nil, listsFailed(err)
	}
	posts, err := t.posts.ReadPosts(ctx, reqID, ids, carrier)
	return posts, exception.CallFailed(err)
}

// readPublished copies what it finds in the store to Redis while it reads the posts.
func (t *userTimeline) readPublished(ctx context.Context, reqID, userID int64, start, stop int32, carrier map[string]string) ([]*idl.Post, error) {
	ids, refill, err := t.lists.ReadPublished(ctx, userID, int(start), int(stop))
	if err != nil {
		return nil, listsFailed(err)
	}
	var posts []*idl.Post
	var both errgroup.Group
	both.Go(func() (err error) {
		posts, err = t.posts.ReadPosts(ctx, reqID, ids, carrier)
		return exception.CallFailed(err)
	})
	both.Go(func() error { return listsFailed(refill()) })
	return posts, both.Wait()
}

// listsFailed names an error of lists; nil stays nil.
func listsFailed(err error) error {
	if errors.Is(err, lists.ErrRedis) {
		return exception.Exception(exceptions.Redis, "%v", err)
	}
	return exception.DocumentsFailed(err)
}
