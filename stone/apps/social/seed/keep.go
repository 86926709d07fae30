package seed

import (
	"context"
	"errors"
	"fmt"

	goredis "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
)

// In a Redis the copy is in its second database, beside a mark that says what it is of; no timeline has that name.
const (
	copyDatabase = 1
	markKey      = "kept"
)

// keep has every store make a copy of what it holds.
func (s *Seed) keep(ctx context.Context, in *seeding.Opened) error {
	return s.everywhere(ctx, in, "copies", func(ctx context.Context, collection documents.Collection) error {
		return collection.Keep(ctx, s.mark())
	}, func(ctx context.Context, home, kept *goredis.Client) error {
		if err := kept.FlushDB(ctx).Err(); err != nil {
			return err
		}
		if err := copyAll(ctx, home, copyDatabase); err != nil {
			return err
		}
		return kept.Set(ctx, markKey, s.mark(), 0).Err()
	})
}

// restore makes every store hold the copy; ErrNotKept if one has none of this seed.
func (s *Seed) restore(ctx context.Context, in *seeding.Opened) error {
	return s.everywhere(ctx, in, "restoring", func(ctx context.Context, collection documents.Collection) error {
		return collection.Restore(ctx, s.mark())
	}, func(ctx context.Context, home, kept *goredis.Client) error {
		mark, err := kept.Get(ctx, markKey).Result()
		if err != nil && !errors.Is(err, goredis.Nil) {
			return err
		}
		if mark != s.mark() {
			return fmt.Errorf("%w: %s has a copy of %q", documents.ErrNotKept, homeRedis, mark)
		}
		if err := home.FlushDB(ctx).Err(); err != nil {
			return err
		}
		return copyAll(ctx, kept, 0)
	})
}

// everywhere does something to all collections and to the home timelines, at the same time. A failure cancels none of the others:
// a cancelled statement may still end in its server, after what is done next.
func (s *Seed) everywhere(ctx context.Context, in *seeding.Opened, what string,
	documented func(context.Context, documents.Collection) error, timelines func(ctx context.Context, home, kept *goredis.Client) error,
) error {
	in.Progress.Begin(what, len(s.parts)+1)
	var group errgroup.Group
	for _, part := range s.parts {
		group.Go(func() error {
			defer in.Progress.Add(1)
			return at(part, documented(ctx, in.Collection(part.where())))
		})
	}
	group.Go(func() error {
		defer in.Progress.Add(1)
		home := in.Redis[homeRedis]
		options := *home.Options()
		options.DB = copyDatabase
		kept := goredis.NewClient(&options)
		defer func() { _ = kept.Close() }()
		if err := timelines(ctx, home, kept); err != nil {
			return at(homes{s}, err)
		}
		return nil
	})
	return group.Wait()
}

// copyAll copies every key but the mark from a client's database into another of the same server.
func copyAll(ctx context.Context, from *goredis.Client, to int) error {
	return eachKeys(ctx, from, func(keys []string) error {
		_, err := from.Pipelined(ctx, func(pipeline goredis.Pipeliner) error {
			for _, key := range keys {
				if key != markKey {
					pipeline.Copy(ctx, key, key, to, true)
				}
			}
			return nil
		})
		return err
	})
}
