package seed

import (
	"context"
	"slices"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
)

const (
	atOnce  = 10_000 // entries in one request to Redis
	atATime = 1000   // keys
)

// entries is the name of the rows that count the entries of timelines.
const entries = "entries"

// homes is the part of the seed that are home timelines, in Redis.
type homes struct{ *Seed }

func (homes) where() documents.Location {
	return documents.Location{Service: homeRedis, Collection: entries}
}

func (h homes) fill(ctx context.Context, into *seeding.Opened) error {
	if h.total == 0 {
		return nil
	}
	g, err := h.graph()
	if err != nil {
		return err
	}
	limit, client := h.homeLimit(g), into.Redis[homeRedis]
	return h.pieces(ctx, into.Progress, "home timelines", func(ctx context.Context, users []int) error {
		pipeline, waiting := client.Pipeline(), 0
		for i, user := range users {
			if posts := h.home(g, user, limit); len(posts) > 0 {
				pipeline.ZAddNX(ctx, homeKey(user), members(posts)...)
				waiting += len(posts)
			}
			if waiting >= atOnce || i == len(users)-1 && waiting > 0 {
				if _, err := pipeline.Exec(ctx); err != nil {
					return err
				}
				waiting = 0
			}
		}
		return nil
	})
}

func (h homes) count(ctx context.Context, in *seeding.Opened) (seeding.Row, error) {
	row := seeding.Row{Store: homeRedis, Collection: entries}
	if h.total > 0 {
		g, err := h.graph()
		if err != nil {
			return row, err
		}
		row.Want = h.homeSize(g, h.homeLimit(g))
	}
	err := eachKeys(ctx, in.Redis[homeRedis], func(keys []string) error {
		sizes, err := in.Redis[homeRedis].Pipelined(ctx, func(pipeline goredis.Pipeliner) error {
			for _, key := range keys {
				pipeline.ZCard(ctx, key)
			}
			return nil
		})
		for _, size := range sizes {
			row.Have += int(size.(*goredis.IntCmd).Val())
		}
		return err
	})
	return row, err
}

func (h homes) differing(ctx context.Context, in *seeding.Opened, users []int) (differ int, err error) {
	g, err := h.graph()
	if err != nil {
		return 0, err
	}
	limit := h.homeLimit(g)
	timelines, err := readHomes(ctx, in.Redis[homeRedis], keysOf(users))
	for i, timeline := range timelines {
		posts := h.home(g, users[i], limit)
		if len(posts) != len(timeline.Posts) {
			differ++
			continue
		}
		for k, number := range posts {
			if timeline.Posts[k] != (data.Entry{PostID: postID(number), Timestamp: timestamp(number)}) {
				differ++
				break
			}
		}
	}
	return differ, err
}

func keysOf(users []int) []string {
	keys := make([]string, len(users))
	for i, user := range users {
		keys[i] = homeKey(user)
	}
	return keys
}

// readHomes reads whole home timelines, the newest post first.
func readHomes(ctx context.Context, client *goredis.Client, keys []string) ([]data.Timeline, error) {
	answers, err := client.Pipelined(ctx, func(pipeline goredis.Pipeliner) error {
		for _, key := range keys {
			pipeline.ZRangeArgsWithScores(ctx, goredis.ZRangeArgs{Key: key, Start: 0, Stop: -1, Rev: true})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	timelines := make([]data.Timeline, len(keys))
	for i, answer := range answers {
		// What is no number becomes 0, which is no user and no post.
		timelines[i].UserID, _ = strconv.ParseInt(keys[i], 10, 64)
		for _, member := range answer.(*goredis.ZSliceCmd).Val() {
			id, _ := strconv.ParseInt(member.Member.(string), 10, 64)
			timelines[i].Posts = append(timelines[i].Posts, data.Entry{PostID: id, Timestamp: int64(member.Score)})
		}
	}
	return timelines, nil
}

// allKeys are the keys of a database, each once, in order: a scan may give some twice.
func allKeys(ctx context.Context, client *goredis.Client) (all []string, err error) {
	for cursor := uint64(0); ; {
		keys, next, err := client.Scan(ctx, cursor, "", atATime).Result()
		if err != nil {
			return nil, err
		}
		if all, cursor = append(all, keys...), next; cursor == 0 {
			slices.Sort(all)
			return slices.Compact(all), nil
		}
	}
}

// eachKeys visits all keys, many at a time.
func eachKeys(ctx context.Context, client *goredis.Client, visit func(keys []string) error) error {
	all, err := allKeys(ctx, client)
	for keys := range slices.Chunk(all, atATime) {
		if err == nil {
			err = visit(keys)
		}
	}
	return err
}

// entriesOf counts the entries of all user timelines.
func (s *Seed) entriesOf(ctx context.Context, in *seeding.Opened) (seeding.Row, error) {
	row := seeding.Row{Store: data.UserTimelines.Service, Collection: entries, Want: s.total}
	err := in.Collection(data.UserTimelines).Each(ctx, func(decode func(any) error) error {
		var timeline data.Timeline
		err := decode(&timeline)
		row.Have += len(timeline.Posts)
		return err
	}, "posts")
	return row, err
}
