package social

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/documents"
)

// crowd is a social graph service with what it stands on.
type crowd struct {
	*socialGraph
	t     *testing.T
	store *watched
	redis *goredis.Client
}

// named is a user service that knows users by name.
type named struct {
	idl.UserService // the rest is not called
	ids             map[string]int64
}

func (n named) GetUserId(_ context.Context, _ int64, name string, _ map[string]string) (int64, error) {
	id, is := n.ids[name]
	if !is {
		return 0, exception.NotFound("there is no %s", name)
	}
	return id, nil
}

func (c crowd) follow(user, followee int64) {
	c.t.Helper()
	if err := c.Follow(c.t.Context(), 1, user, followee, nil); err != nil {
		c.t.Error(err)
	}
}

func (c crowd) unfollow(user, followee int64) {
	c.t.Helper()
	if err := c.Unfollow(c.t.Context(), 1, user, followee, nil); err != nil {
		c.t.Error(err)
	}
}

func (c crowd) expectFollowers(user int64, want ...int64) {
	c.t.Helper()
	got, err := c.GetFollowers(c.t.Context(), 1, user, nil)
	if slices.Sort(got); err != nil || got == nil || !slices.Equal(got, want) {
		c.t.Errorf("followers of %d: %v, %v; want %v", user, got, err, want)
	}
}

func (c crowd) expectFollowees(user int64, want ...int64) {
	c.t.Helper()
	got, err := c.GetFollowees(c.t.Context(), 1, user, nil)
	if slices.Sort(got); err != nil || got == nil || !slices.Equal(got, want) {
		c.t.Errorf("followees of %d: %v, %v; want %v", user, got, err, want)
	}
}

func TestSocialGraph(t *testing.T) {
	store, redis := openCollection(t, data.Graph), openRedis(t)
	run := func(name string, quirks bool, test func(crowd)) {
		t.Run(name, func(t *testing.T) {
			check(t, store.Clear(t.Context()))
			restart(t, redis)
			users := named{ids: map[string]int64{"anna": 1, "ben": 2}}
			test(crowd{&socialGraph{nodes: store, cache: &graphCache{store, redis}, users: users, quirks: quirks}, t, store, redis})
		})
	}
	run("edges come and go", false, comeAndGo)
	run("edges come and go with quirks", true, comeAndGo)
	run("lists are read from the store once", false, cachedOnce)
	run("lists are ordered by time", false, orderedEdges)
	run("names must be known", false, byName)
	run("ids are not negative", false, negativeIDs)
	run("users can be made known twice", false, insertTwice)
	run("an unfollow during a copy", false, unfollowedWhileCopied)
	run("a restart during a copy", false, restartedWhileListed)
	run("changes at the same time", false, manyChanges)
	run("an edge made and undone at once", false, madeAndUndone)
	run("no followers, with quirks", true, noFollowers)
}

func comeAndGo(c crowd) {
	for user := range int64(5) {
		check(c.t, c.InsertUser(c.t.Context(), 1, user, nil))
	}
	c.follow(1, 2)
	c.follow(1, 2)
	c.follow(1, 3)
	c.follow(3, 2)
	c.follow(4, 4)
	for range 2 { // store, Redis
		c.expectFollowees(1, 2, 3)
		c.expectFollowers(2, 1, 3)
		c.expectFollowers(3, 1)
		c.expectFollowers(4, 4)
		c.expectFollowees(4, 4)
	}
	c.unfollow(1, 2)
	c.unfollow(1, 2)
	c.unfollow(1, 4)
	for range 2 {
		c.expectFollowees(1, 3)
		c.expectFollowers(2, 3)
		c.expectFollowers(4, 4)
	}
	restart(c.t, c.redis)
	c.expectFollowees(1, 3)
	c.expectFollowers(2, 3)
	c.follow(1000, 1001) // an unknown user
	c.expectFollowers(1001, 1000)
	c.expectFollowers(999)
}

func cachedOnce(c crowd) {
	check(c.t, c.InsertUser(c.t.Context(), 1, 5, nil))
	c.follow(1, 2)
	c.store.expectReads(c.t, 4, "each list", func() {
		for range 3 {
			c.expectFollowers(2, 1)
			c.expectFollowees(1, 2)
			c.expectFollowers(5)
			c.expectFollowers(77)
		}
	})
	c.follow(3, 2)
	c.store.expectReads(c.t, 1, "the list that changed", func() {
		c.expectFollowers(2, 1, 3)
		c.expectFollowers(2, 1, 3)
		c.expectFollowees(1, 2)
	})
	restart(c.t, c.redis)
	c.store.expectReads(c.t, 2, "after Redis was restarted", func() {
		for range 2 {
			c.expectFollowers(2, 1, 3)
			c.expectFollowers(5)
		}
	})
}

func orderedEdges(c crowd) {
	edges := []data.Edge{{UserID: 7, Timestamp: 30}, {UserID: 10, Timestamp: 20}, {UserID: 9, Timestamp: 20}, {UserID: 8, Timestamp: 40}}
	check(c.t, c.store.Insert(c.t.Context(), data.Node{UserID: 1, Followers: edges}))
	for _, from := range []string{"store", "Redis"} {
		got, err := c.GetFollowers(c.t.Context(), 1, 1, nil)
		if want := []int64{10, 9, 7, 8}; err != nil || !slices.Equal(got, want) {
			c.t.Errorf("from %s: %v, %v; want %v", from, got, err, want)
		}
	}
}

func byName(c crowd) {
	check(c.t, c.FollowWithUsername(c.t.Context(), 1, "anna", "ben", nil))
	c.expectFollowers(2, 1)
	check(c.t, c.UnfollowWithUsername(c.t.Context(), 1, "anna", "ben", nil))
	c.expectFollowers(2)
	for _, pair := range [][2]string{{"anna", "carl"}, {"carl", "anna"}} {
		for _, err := range []error{
			c.FollowWithUsername(c.t.Context(), 1, pair[0], pair[1], nil), c.UnfollowWithUsername(c.t.Context(), 1, pair[0], pair[1], nil),
		} {
			if code(err) != idl.ErrorCode_SE_NOT_FOUND || err.(*idl.ServiceException).Message != "there is no carl" {
				c.t.Errorf("%v: %v", pair, err)
			}
		}
	}
	c.expectFollowees(1)
	c.expectFollowers(1)
}

func negativeIDs(c crowd) {
	for _, err := range []error{
		c.Follow(c.t.Context(), 1, -1, 2, nil), c.Unfollow(c.t.Context(), 1, 2, -1, nil), c.InsertUser(c.t.Context(), 1, -1, nil),
	} {
		if code(err) != idl.ErrorCode_SE_INVALID {
			c.t.Error(err)
		}
	}
	if count, err := c.store.Count(c.t.Context()); count != 0 || err != nil {
		c.t.Errorf("%d users are stored, %v", count, err)
	}
}

func insertTwice(c crowd) {
	c.follow(1, 2)
	for range 2 {
		check(c.t, c.InsertUser(c.t.Context(), 1, 2, nil))
	}
	c.expectFollowers(2, 1)
}

func unfollowedWhileCopied(c crowd) {
	c.follow(1, 2)
	c.store.once(func() { c.unfollow(1, 2) })
	c.expectFollowers(2, 1) // was right when it was read
	c.expectFollowers(2)
	c.store.once(func() { c.follow(3, 4) })
	c.expectFollowers(4)
	c.expectFollowers(4, 3)
}

func restartedWhileListed(c crowd) {
	c.follow(1, 2)
	c.store.once(func() {
		c.unfollow(1, 2)
		restart(c.t, c.redis)
	})
	if _, err := c.GetFollowers(c.t.Context(), 1, 2, nil); code(err) != idl.ErrorCode_SE_REDIS_ERROR {
		c.t.Errorf("the read that Redis was restarted under: %v", err)
	}
	c.expectFollowers(2)
}

// Many follow, unfollow and read, with and without restarts of Redis, and try again what failed; then Redis, store and
// both ends of each edge agree.
func manyChanges(c crowd) {
	const users = 4
	for _, restarts := range []int{0, 10} {
		var working sync.WaitGroup
		for range 6 {
			working.Go(func() {
				for range 100 {
					c.changeAnything(rand.Int64N(users), rand.Int64N(users))
				}
			})
		}
		for range restarts {
			restart(c.t, c.redis)
		}
		working.Wait()
		c.expectAgreement(users)
	}
}

func madeAndUndone(c crowd) {
	c.store.shake.Store(true)
	defer c.store.shake.Store(false)
	for range 30 {
		var both sync.WaitGroup
		both.Go(func() { c.follow(0, 1) })
		both.Go(func() { c.unfollow(0, 1) })
		both.Wait()
		c.expectAgreement(2)
	}
}

func (c crowd) changeAnything(user, other int64) {
	act := []func() error{
		func() error { return c.Follow(c.t.Context(), 1, user, other, nil) },
		func() error { return c.Unfollow(c.t.Context(), 1, user, other, nil) },
		func() error { _, err := c.GetFollowers(c.t.Context(), 1, user, nil); return err },
		func() error { _, err := c.GetFollowees(c.t.Context(), 1, user, nil); return err },
	}[rand.IntN(4)]
	for err := act(); err != nil; err = act() {
		if code(err) != idl.ErrorCode_SE_REDIS_ERROR {
			c.t.Error(err)
			return
		}
	}
}

func (c crowd) expectAgreement(users int64) {
	c.t.Helper()
	for user := range users {
		var node data.Node
		if err := c.store.Get(c.t.Context(), &node, documents.Equal("user_id", user)); err != nil && !errors.Is(err, documents.ErrNotFound) {
			c.t.Fatal(err)
		}
		for range 2 {
			c.expectFollowers(user, slices.Sorted(slices.Values(edgeIDs(node.Followers)))...)
			c.expectFollowees(user, slices.Sorted(slices.Values(edgeIDs(node.Followees)))...)
		}
		for other := range users {
			followees, err := c.GetFollowees(c.t.Context(), 1, other, nil)
			if err != nil || slices.Contains(followees, user) != slices.Contains(edgeIDs(node.Followers), other) {
				c.t.Errorf("%d follows %d at one end only: %v, %v", other, user, followees, err)
			}
		}
	}
}

func noFollowers(c crowd) {
	check(c.t, c.InsertUser(c.t.Context(), 1, 1, nil))
	if _, err := c.GetFollowers(c.t.Context(), 1, 1, nil); code(err) != idl.ErrorCode_SE_REDIS_ERROR {
		c.t.Errorf("of who has none: %v", err)
	}
	c.expectFollowers(2) // who is not known
	c.follow(2, 1)
	c.expectFollowers(1, 2)
}
