package social

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

// socialGraph keeps the followers of users: documents, and Redis as a cache over them (graphCache). Following and unfollowing
// can be repeated, and go on at the same time, without harm; but an edge stands in two documents, and only within one
// replica do its changes wait for each other: where two replicas make and undo the same edge at the same moment, one end
// may have it and the other not, until its next change. Ids are taken as they come: one that no user has is no error, as
// published.
type socialGraph struct {
	nodes  documents.Collection
	cache  *graphCache
	users  idl.UserService
	quirks bool
	turns  [256]sync.Mutex // by edge
}

func startSocialGraph(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	redis, err := host.OpenRedis("redis-social-graph", redisConnections)
	if err != nil {
		return err
	}
	users, err := host.DialThrift("user")
	if err != nil {
		return err
	}
	nodes := data.Graph.In(store)
	prepareIndexes(host, store, data.Graph)
	host.Thrift = idl.NewSocialGraphServiceProcessor(&socialGraph{
		nodes: nodes, cache: &graphCache{nodes, redis}, users: idl.NewUserServiceClient(users), quirks: host.Config.Quirks,
	})
	return nil
}

// InsertUser makes a user known. It may be repeated: a registration that broke off is tried again.
func (g *socialGraph) InsertUser(ctx context.Context, _, userID int64, _ map[string]string) error {
	if err := checkID("user", userID); err != nil {
		return err
	}
	err := g.nodes.Insert(ctx, data.Node{UserID: userID, Followers: []data.Edge{}, Followees: []data.Edge{}})
	if errors.Is(err, documents.ErrDuplicate) {
		return nil
	}
	return exception.DocumentsFailed(err)
}

func (g *socialGraph) GetFollowers(ctx context.Context, _, userID int64, _ map[string]string) ([]int64, error) {
	return g.read(ctx, list{userID, followers})
}

func (g *socialGraph) GetFollowees(ctx context.Context, _, userID int64, _ map[string]string) ([]int64, error) {
	return g.read(ctx, list{userID, followees})
}

func (g *socialGraph) read(ctx context.Context, of list) ([]int64, error) {
	if g.quirks {
		return g.cache.readPublished(ctx, of)
	}
	return g.cache.read(ctx, of)
}

func (g *socialGraph) Follow(ctx context.Context, _, userID, followeeID int64, _ map[string]string) error {
	now := time.Now().UnixMilli()
	push := func(to list, other int64) error {
		return g.nodes.Push(ctx, to.at(), to.side, data.Edge{UserID: other, Timestamp: now}, "user_id")
	}
	return g.change(ctx, userID, followeeID, push, func() error { return g.cache.add(ctx, userID, followeeID, now) })
}

func (g *socialGraph) Unfollow(ctx context.Context, _, userID, followeeID int64, _ map[string]string) error {
	pull := func(from list, other int64) error {
		return g.nodes.Pull(ctx, from.at(), from.side, "user_id", other)
	}
	return g.change(ctx, userID, followeeID, pull, func() error { return g.cache.remove(ctx, userID, followeeID) })
}

// change changes the two lists of an edge at the same time, then has the cache forget them, even if one failed.
//
// Quirk: the lists in Redis are changed (by cached), at the same time.
func (g *socialGraph) change(ctx context.Context, userID, followeeID int64, stored func(of list, other int64) error, cached func() error) error {
	for _, id := range []int64{userID, followeeID} {
		if err := checkID("user", id); err != nil {
			return err
		}
	}
	turn := &g.turns[uint64(31*userID+followeeID)%uint64(len(g.turns))]
	turn.Lock()
	defer turn.Unlock()
	var all errgroup.Group
	all.Go(func() error { return exception.DocumentsFailed(stored(list{userID, followees}, followeeID)) })
	all.Go(func() error { return exception.DocumentsFailed(stored(list{followeeID, followers}, userID)) })
	if g.quirks {
		all.Go(cached)
		return all.Wait()
	}
	err := all.Wait()
	if forgotten := g.cache.forget(ctx, list{userID, followees}, list{followeeID, followers}); err == nil {
		err = forgotten
	}
	return err
}

func (g *socialGraph) FollowWithUsername(ctx context.Context, reqID int64, name, followeeName string, carrier map[string]string) error {
	userID, followeeID, err := g.lookUp(ctx, reqID, name, followeeName, carrier)
	if err != nil {
		return err
	}
	return g.Follow(ctx, reqID, userID, followeeID, carrier)
}

func (g *socialGraph) UnfollowWithUsername(ctx context.Context, reqID int64, name, followeeName string, carrier map[string]string) error {
	userID, followeeID, err := g.lookUp(ctx, reqID, name, followeeName, carrier)
	if err != nil {
		return err
	}
	return g.Unfollow(ctx, reqID, userID, followeeID, carrier)
}

// lookUp finds the ids of two names at the same time.
func (g *socialGraph) lookUp(ctx context.Context, reqID int64, name, followeeName string, carrier map[string]string) (userID, followeeID int64, err error) {
	find := func(name string, into *int64) func() error {
		return func() error {
			id, err := g.users.GetUserId(ctx, reqID, name, carrier)
			*into = id
			return exception.CallFailed(err)
		}
	}
	var both errgroup.Group
	both.Go(find(name, &userID))
	both.Go(find(followeeName, &followeeID))
	return userID, followeeID, both.Wait()
}
