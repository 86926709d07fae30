package social

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/documents"
	lists "loadstone.dev/stone/platform/timeline"
)

// authors is a user timeline service with what it stands on.
type authors struct {
	*userTimeline
	t     *testing.T
	store *watched
	redis *goredis.Client
}

func (a authors) write(user, post, timestamp int64) {
	a.t.Helper()
	check(a.t, a.WriteUserTimeline(a.t.Context(), 1, post, user, timestamp, nil))
}

// expect reads a part of a timeline.
func (a authors) expect(user int64, start, stop int32, want ...int64) {
	a.t.Helper()
	posts, err := a.ReadUserTimeline(a.t.Context(), 1, user, start, stop, nil)
	if got := postIDs(posts); err != nil || posts == nil || !slices.Equal(got, want) {
		a.t.Errorf("posts %d to %d of %d: %v, %v; want %v", start, stop, user, got, err, want)
	}
}

func TestUserTimelines(t *testing.T) {
	store, redis := openCollection(t, data.UserTimelines), openRedis(t)
	run := func(name string, quirks bool, test func(authors)) {
		t.Run(name, func(t *testing.T) {
			check(t, store.Clear(t.Context()))
			restart(t, redis)
			test(authors{&userTimeline{data.UserTimelineLists(store, redis), &everyPost{}, quirks}, t, store, redis})
		})
	}
	run("are read from the store once", false, readOnce)
	run("are ordered by time", false, ordered)
	run("have ranges", false, ranges)
	run("have empty ranges with quirks", true, emptyRanges)
	run("are not copied while Redis restarts", false, restartedWhileCopied)
	run("lose no post that was written", false, loseNothing)
	run("say what failed", false, sayWhatFailed)
	run("read the store for short ones with quirks", true, readOften)
}

func readOnce(a authors) {
	for post := range int64(5) {
		a.write(1, 100+post, 1000+post)
	}
	a.store.expectReads(a.t, 1, "what Redis holds is not known to be all", func() { a.expect(1, 0, 2, 104, 103) })
	a.store.expectReads(a.t, 0, "now it is", func() {
		a.expect(1, 0, 2, 104, 103)
		a.expect(1, 0, 5, 104, 103, 102, 101, 100)
		a.expect(1, 3, 1000, 101, 100)
		a.expect(1, 5, 10)
		a.write(1, 105, 1005)
		a.expect(1, 0, 2, 105, 104)
	})
	a.store.expectReads(a.t, 1, "of a user without posts", func() { a.expect(2, 0, 10); a.expect(2, 0, 10) })
	restart(a.t, a.redis)
	a.write(1, 106, 1006)
	a.store.expectReads(a.t, 1, "after Redis was restarted", func() {
		a.expect(1, 0, 1, 106)
		a.expect(1, 0, 10, 106, 105, 104, 103, 102, 101, 100)
		a.expect(1, 20, 30)
	})
}

func ordered(a authors) {
	a.write(1, 12, 2000) // written in another order than composed
	a.write(1, 11, 1000)
	a.write(1, 14, 3000) // three in one millisecond
	a.write(1, 13, 3000)
	a.write(1, 9, 3000)
	a.write(1, 11, 1000) // again
	for range 2 {        // store, Redis
		a.expect(1, 0, 10, 9, 14, 13, 12, 11)
		for at, want := range []int64{9, 14, 13, 12, 11} {
			a.expect(1, int32(at), int32(at)+1, want)
		}
	}
}

func ranges(a authors) {
	a.write(1, 11, 1000)
	for _, wrong := range [][2]int32{{-1, 10}, {10, 9}, {0, 1001}, {0, 1<<31 - 1}, {-1 << 31, -1}} {
		if _, err := a.ReadUserTimeline(a.t.Context(), 1, 1, wrong[0], wrong[1], nil); code(err) != idl.ErrorCode_SE_INVALID {
			a.t.Errorf("%v: %v", wrong, err)
		}
	}
	a.expect(1, 0, 0)
	a.expect(1, 0, 1000, 11)
	a.expect(1, 1<<31-2, 1<<31-1)
}

func emptyRanges(a authors) {
	a.write(1, 11, 1000)
	for _, empty := range [][2]int32{{-1, 10}, {10, 9}, {3, 3}} {
		a.expect(1, empty[0], empty[1])
	}
	a.expect(1, 0, 1<<31-1, 11)
}

func restartedWhileCopied(a authors) {
	a.write(1, 11, 1000)
	a.store.once(func() {
		a.write(1, 12, 2000)
		restart(a.t, a.redis)
	})
	if _, err := a.ReadUserTimeline(a.t.Context(), 1, 1, 0, 10, nil); code(err) != idl.ErrorCode_SE_REDIS_ERROR {
		a.t.Errorf("the read that Redis was restarted under: %v", err)
	}
	a.store.expectReads(a.t, 1, "nothing was copied", func() { a.expect(1, 0, 10, 12, 11) })
}

// Writers and readers go on while Redis is restarted again and again.
func loseNothing(a authors) {
	const users, each = 3, 60
	var written [users]sync.Map
	var working sync.WaitGroup
	for user := range int64(users) {
		for writer := range int64(3) {
			working.Go(func() {
				for number := range int64(each) {
					post := writer*each + number
					if a.WriteUserTimeline(a.t.Context(), 1, post, user, rand.Int64N(100), nil) == nil {
						written[user].Store(post, true)
					}
				}
			})
		}
		working.Go(func() {
			for range each {
				_, _ = a.ReadUserTimeline(a.t.Context(), 1, user, 0, 1000, nil)
			}
		})
	}
	for range 20 {
		restart(a.t, a.redis)
	}
	working.Wait()
	for user := range int64(users) {
		posts, err := a.ReadUserTimeline(a.t.Context(), 1, user, 0, 1000, nil)
		check(a.t, err)
		shown := postIDs(posts)
		written[user].Range(func(post, _ any) bool {
			if !slices.Contains(shown, post.(int64)) {
				a.t.Errorf("user %d: post %d was written and is not shown", user, post)
			}
			return true
		})
		a.expectPartOfStore(user, shown)
	}
}

// expectPartOfStore fails unless posts are in the store, in that order. A post whose writing failed half way may be there
// alone.
func (a authors) expectPartOfStore(user int64, shown []int64) {
	a.t.Helper()
	var stored data.Timeline
	check(a.t, a.store.Get(a.t.Context(), &stored, documents.Equal("user_id", user)))
	entries := stored.Entries()
	slices.SortFunc(entries, lists.NewestFirst)
	last := -1
	for _, post := range shown {
		at := slices.IndexFunc(entries, func(one lists.Entry) bool { return one.ID == post })
		if at <= last {
			a.t.Fatalf("user %d: %v is not a part, in order, of %v", user, shown, entries)
		}
		last = at
	}
}

func sayWhatFailed(a authors) {
	check(a.t, a.redis.Set(a.t.Context(), "1", "not a sorted set", 0).Err())
	if err := a.WriteUserTimeline(a.t.Context(), 1, 11, 1, 1000, nil); code(err) != idl.ErrorCode_SE_REDIS_ERROR {
		a.t.Errorf("a write that Redis does not take: %v", err)
	}
	refusal := exception.Conflict("no such thing")
	a.posts = &everyPost{fail: refusal}
	if _, err := a.ReadUserTimeline(a.t.Context(), 1, 2, 0, 10, nil); !errors.Is(err, refusal) {
		a.t.Errorf("post storage reported it: %v", err)
	}
}

func readOften(a authors) {
	a.write(1, 11, 1000)
	a.write(1, 12, 2000)
	for range 3 {
		a.store.expectReads(a.t, 0, "as many as requested", func() { a.expect(1, 0, 2, 12, 11) })
		a.store.expectReads(a.t, 1, "fewer", func() { a.expect(1, 0, 3, 12, 11) })
		a.store.expectReads(a.t, 1, "none", func() { a.expect(7, 0, 3) })
	}
	restart(a.t, a.redis)
	a.store.expectReads(a.t, 1, "after a restart of Redis", func() { a.expect(1, 1, 2, 11); a.expect(1, 0, 2, 12, 11) })
}
