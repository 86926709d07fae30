package social

import (
	"context"
	"errors"
	"slices"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/documents"
	lists "loadstone.dev/stone/platform/timeline"
)

// The two lists that a user has: names of fields, and ends of keys.
const (
	followers = "followers"
	followees = "followees"
)

// list is one of the two lists of a user.
type list struct {
	userID int64
	side   string
}

func (l list) at() documents.Condition { return documents.Equal("user_id", l.userID) }
func (l list) key() string             { return strconv.FormatInt(l.userID, 10) + ":" + l.side }
func (l list) stateKey() string        { return l.key() + ":state" }

// What Redis says about a list that it holds, beside it.
const (
	isWhole   = "whole"   // it is what the store has
	isChanged = "changed" // the store has changed since
)

// graphCache keeps lists in Redis (sorted sets of user ids by time) as copies of those in the store.
//
// Who changes the store then sets the state of the changed lists, and so makes the copies void: changes made in Redis
// itself could come in another order there than in the store, and stay so. Who finds no whole copy makes one on a
// connection that watched the state before the store was read: if the state was set meanwhile, or Redis restarted, the
// copy is not written. So no copy that is called whole outlives a change that was answered as made.
type graphCache struct {
	nodes documents.Collection
	redis *goredis.Client
}

// read returns a list, the oldest edge first.
func (c *graphCache) read(ctx context.Context, of list) ([]int64, error) {
	var state *goredis.StringCmd
	var held *goredis.StringSliceCmd
	_, err := c.redis.TxPipelined(ctx, func(pipeline goredis.Pipeliner) error {
		held = pipeline.ZRange(ctx, of.key(), 0, -1)
		state = pipeline.Get(ctx, of.stateKey())
		return nil
	})
	if err != nil && !errors.Is(err, goredis.Nil) { // no state
		return nil, exception.RedisFailed(err)
	}
	if state.Val() == isWhole {
		return idsOf(held.Val())
	}
	return c.refill(ctx, of)
}

// refill copies a list from the store to Redis and returns it.
func (c *graphCache) refill(ctx context.Context, of list) ([]int64, error) {
	var edges []data.Edge
	var unread error
	err := c.redis.Watch(ctx, func(tx *goredis.Tx) error {
		if edges, unread = c.stored(ctx, of); unread != nil {
			return unread
		}
		_, err := tx.TxPipelined(ctx, func(pipeline goredis.Pipeliner) error {
			pipeline.Del(ctx, of.key())
			if len(edges) > 0 {
				pipeline.ZAdd(ctx, of.key(), edgeMembers(edges)...)
			}
			pipeline.Set(ctx, of.stateKey(), isWhole, 0)
			return nil
		})
		if errors.Is(err, goredis.TxFailedErr) { // it has changed since; what was read was right then
			return nil
		}
		return err
	}, of.stateKey())
	if unread != nil {
		return nil, unread
	}
	return edgeIDs(edges), exception.RedisFailed(err)
}

// forget makes the copies of lists void.
func (c *graphCache) forget(ctx context.Context, lists ...list) error {
	pairs := make([]any, 0, 2*len(lists))
	for _, one := range lists {
		pairs = append(pairs, one.stateKey(), isChanged)
	}
	return exception.RedisFailed(c.redis.MSet(ctx, pairs...).Err())
}

// stored reads a list from the store, the oldest edge first. A user without a document has empty lists.
func (c *graphCache) stored(ctx context.Context, of list) ([]data.Edge, error) {
	other := followees
	if of.side == followees {
		other = followers
	}
	var node data.Node
	err := c.nodes.Head(ctx, &node, other, 0, of.at())
	if err != nil && !errors.Is(err, documents.ErrNotFound) {
		return nil, exception.DocumentsFailed(err)
	}
	edges := node.Followers
	if of.side == followees {
		edges = node.Followees
	}
	slices.SortFunc(edges, oldestFirst)
	return edges, nil
}

// readPublished believes what Redis holds if it is anything.
//
// Quirk: a list without edges is not cached, and the attempt to do so fails: a user without followers cannot post.
func (c *graphCache) readPublished(ctx context.Context, of list) ([]int64, error) {
	held, err := c.redis.ZRange(ctx, of.key(), 0, -1).Result()
	if err != nil {
		return nil, exception.RedisFailed(err)
	}
	if len(held) > 0 {
		return idsOf(held)
	}
	edges, err := c.stored(ctx, of)
	if err != nil {
		return nil, err
	}
	if edges == nil { // not even the user is in the store
		return []int64{}, nil
	}
	return edgeIDs(edges), exception.RedisFailed(c.redis.ZAddNX(ctx, of.key(), edgeMembers(edges)...).Err())
}

// add puts an edge into both lists in Redis, whether or not they are whole.
func (c *graphCache) add(ctx context.Context, userID, followeeID, timestamp int64) error {
	_, err := c.redis.Pipelined(ctx, func(pipeline goredis.Pipeliner) error {
		pipeline.ZAddNX(ctx, list{userID, followees}.key(), goredis.Z{Score: float64(timestamp), Member: followeeID})
		pipeline.ZAddNX(ctx, list{followeeID, followers}.key(), goredis.Z{Score: float64(timestamp), Member: userID})
		return nil
	})
	return exception.RedisFailed(err)
}

// remove takes an edge out of both lists in Redis.
func (c *graphCache) remove(ctx context.Context, userID, followeeID int64) error {
	_, err := c.redis.Pipelined(ctx, func(pipeline goredis.Pipeliner) error {
		pipeline.ZRem(ctx, list{userID, followees}.key(), followeeID)
		pipeline.ZRem(ctx, list{followeeID, followers}.key(), userID)
		return nil
	})
	return exception.RedisFailed(err)
}

// oldestFirst orders edges as Redis does.
func oldestFirst(a, b data.Edge) int {
	return lists.NewestFirst(lists.Entry{ID: b.UserID, Timestamp: b.Timestamp}, lists.Entry{ID: a.UserID, Timestamp: a.Timestamp})
}

func edgeMembers(edges []data.Edge) []goredis.Z {
	set := make([]goredis.Z, len(edges))
	for i, edge := range edges {
		set[i] = goredis.Z{Score: float64(edge.Timestamp), Member: edge.UserID}
	}
	return set
}

func edgeIDs(edges []data.Edge) []int64 {
	ids := make([]int64, len(edges))
	for i, edge := range edges {
		ids[i] = edge.UserID
	}
	return ids
}
