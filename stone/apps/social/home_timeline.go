package social

import (
	"context"
	"slices"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/exceptions"
	"loadstone.dev/stone/platform/service"
)

// homeTimeline keeps, for each user, the posts of followed users, and those that mention the user. It is kept in
// Redis only: a Redis that starts anew has forgotten every home timeline, and new posts fill them again, as published.
// The posts themselves, and the timelines of their authors, are in other stores.
type homeTimeline struct {
	timelines *goredis.Client // user id -> sorted set of post ids by timestamp
	posts     idl.PostStorageService
	graph     idl.SocialGraphService
	quirks    bool
}

func startHomeTimeline(_ context.Context, host *service.Host) error {
	timelines, err := host.OpenRedis("redis-home-timeline", redisConnections)
	if err != nil {
		return err
	}
	posts, err := host.DialThrift("post-storage")
	if err != nil {
		return err
	}
	graph, err := host.DialThrift("social-graph")
	if err != nil {
		return err
	}
	host.Thrift = idl.NewHomeTimelineServiceProcessor(&homeTimeline{
		timelines: timelines, quirks: host.Config.Quirks,
		posts: idl.NewPostStorageServiceClient(posts), graph: idl.NewSocialGraphServiceClient(graph),
	})
	return nil
}

// WriteHomeTimeline puts a post into the timelines of its author's followers and of those that it mentions, each once.
func (h *homeTimeline) WriteHomeTimeline(ctx context.Context, reqID, postID, userID, timestamp int64, mentioned []int64, carrier map[string]string) error {
	followers, err := h.graph.GetFollowers(ctx, reqID, userID, carrier)
	if err != nil {
		return exception.CallFailed(err)
	}
	post := goredis.Z{Score: float64(timestamp), Member: postID}
	_, err = h.timelines.Pipelined(ctx, func(pipeline goredis.Pipeliner) error {
		for _, reader := range distinct(slices.Concat(followers, mentioned)) {
			pipeline.ZAddNX(ctx, strconv.FormatInt(reader, 10), post)
		}
		return nil
	})
	return exception.RedisFailed(err)
}

// ReadHomeTimeline returns the posts from start up to, not including, stop, counted from the newest.
func (h *homeTimeline) ReadHomeTimeline(ctx context.Context, reqID, userID int64, start, stop int32, carrier map[string]string) ([]*idl.Post, error) {
	if empty, err := checkWindow(start, stop, h.quirks); empty || err != nil {
		return []*idl.Post{}, err
	}
	members, err := h.timelines.ZRangeArgs(ctx, goredis.ZRangeArgs{
		Key: strconv.FormatInt(userID, 10), Start: start, Stop: stop - 1, Rev: true,
	}).Result()
	if err != nil {
		return nil, exception.RedisFailed(err)
	}
	ids, err := idsOf(members)
	if err != nil {
		return nil, err
	}
	posts, err := h.posts.ReadPosts(ctx, reqID, ids, carrier)
	return posts, exception.CallFailed(err)
}

// checkWindow reports whether a range of a timeline is empty, or that it is wrong.
//
// Quirk: a wrong range is an empty one.
func checkWindow(start, stop int32, quirks bool) (empty bool, err error) {
	if quirks {
		return start < 0 || stop <= start, nil
	}
	return start == stop, checkRange(start, stop)
}

// idsOf reads the members of a sorted set.
func idsOf(members []string) ([]int64, error) {
	ids := make([]int64, len(members))
	for i, member := range members {
		id, err := strconv.ParseInt(member, 10, 64)
		if err != nil {
			return nil, exception.Exception(exceptions.Redis, "redis: %q is not an id", member)
		}
		ids[i] = id
	}
	return ids, nil
}
