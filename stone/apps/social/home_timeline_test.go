package social

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	idl "loadstone.dev/stone/apps/social/idl/social"
)

// followed is a social graph in which all users have the same followers.
type followed struct {
	idl.SocialGraphService // the rest is not called
	by                     []int64
	fail                   error
}

func (f *followed) GetFollowers(context.Context, int64, int64, map[string]string) ([]int64, error) {
	return f.by, f.fail
}

func TestHomeTimelines(t *testing.T) {
	graph, posts := &followed{}, &everyPost{}
	h := &homeTimeline{timelines: openRedis(t), posts: posts, graph: graph}
	write := func(post, timestamp int64, followers, mentioned []int64) {
		t.Helper()
		graph.by = followers
		check(t, h.WriteHomeTimeline(t.Context(), 1, post, 1, timestamp, mentioned, nil))
	}
	expect := func(user int64, start, stop int32, want ...int64) {
		t.Helper()
		found, err := h.ReadHomeTimeline(t.Context(), 1, user, start, stop, nil)
		if got := postIDs(found); err != nil || found == nil || !slices.Equal(got, want) {
			t.Errorf("posts %d to %d of %d: %v, %v; want %v", start, stop, user, got, err, want)
		}
	}
	write(11, 1000, []int64{2, 3}, []int64{3, 4, 4}) // a follower is mentioned; another is mentioned twice
	write(12, 3000, []int64{2}, nil)
	write(13, 2000, []int64{2}, []int64{})
	write(13, 9000, []int64{2}, nil) // again
	write(14, 5000, nil, nil)        // it reaches no timeline
	write(15, 3000, []int64{2}, []int64{1})
	expect(1, 0, 10, 15)
	expect(2, 0, 10, 15, 12, 13, 11)
	expect(2, 1, 3, 12, 13)
	expect(2, 4, 10)
	expect(3, 0, 10, 11)
	expect(4, 0, 10, 11)
	expect(5, 0, 10)
	expect(5, 7, 7)
	if count := h.timelines.DBSize(t.Context()).Val(); count != 4 {
		t.Errorf("Redis has %d timelines", count)
	}
	for _, wrong := range [][2]int32{{-1, 10}, {10, 9}, {0, 1001}} {
		if _, err := h.ReadHomeTimeline(t.Context(), 1, 2, wrong[0], wrong[1], nil); code(err) != idl.ErrorCode_SE_INVALID {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	h.quirks = true
	for _, empty := range [][2]int32{{-1, 10}, {10, 9}, {3, 3}} {
		expect(2, empty[0], empty[1])
	}
	expect(2, 0, 1001, 15, 12, 13, 11)

	many := make([]int64, 5000)
	for i := range many {
		many[i] = int64(1000 + i)
	}
	write(16, 1, many, nil)
	for _, user := range []int64{1000, 3456, 5999} {
		expect(user, 0, 10, 16)
	}
}

func TestAHomeTimelineSaysWhatFailed(t *testing.T) {
	refusal := exception.Conflict("no such thing")
	h := &homeTimeline{timelines: openRedis(t), posts: &everyPost{fail: refusal}, graph: &followed{fail: refusal}}
	if err := h.WriteHomeTimeline(t.Context(), 1, 11, 1, 1000, []int64{2}, nil); !errors.Is(err, refusal) {
		t.Errorf("the graph: %v", err)
	}
	if count := h.timelines.DBSize(t.Context()).Val(); count != 0 {
		t.Errorf("%d timelines were written nevertheless", count)
	}
	if _, err := h.ReadHomeTimeline(t.Context(), 1, 2, 0, 10, nil); !errors.Is(err, refusal) {
		t.Errorf("the posts: %v", err)
	}
	for user, value := range map[int64]func(key string) error{
		1: func(key string) error { return h.timelines.Set(t.Context(), key, "x", 0).Err() },
		2: func(key string) error { return h.timelines.ZAddNX(t.Context(), key, goredis.Z{Member: "x"}).Err() },
	} {
		check(t, value(strconv.FormatInt(user, 10)))
		if _, err := h.ReadHomeTimeline(t.Context(), 1, user, 0, 10, nil); code(err) != idl.ErrorCode_SE_REDIS_ERROR {
			t.Errorf("what is no timeline of %d: %v", user, err)
		}
	}
	h.graph = &followed{by: []int64{1}}
	if err := h.WriteHomeTimeline(t.Context(), 1, 11, 1, 1000, nil, nil); code(err) != idl.ErrorCode_SE_REDIS_ERROR {
		t.Errorf("a write that Redis does not take: %v", err)
	}
}
