package service

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/platform/cache"
	"loadstone.dev/stone/platform/logging"
)

// Cached is a cache whose failures cost time, never an answer: what it cannot say is a miss. They
// are counted, and logged once a second at most.
type Cached struct {
	cache    cache.Cache
	name     string
	log      *logging.Limited
	failures *atomic.Int64
}

// Get returns the values of those keys that the cache holds and returned in time.
func (c *Cached) Get(ctx context.Context, keys []string) map[string][]byte {
	if len(keys) == 0 {
		return nil
	}
	values, err := c.cache.GetMulti(ctx, keys)
	c.failed(err)
	return values
}

// Set stores a value, as far as possible.
func (c *Cached) Set(ctx context.Context, key string, value []byte) {
	c.failed(c.cache.Set(ctx, key, value))
}

// Add stores a value unless the key has one, as far as possible.
func (c *Cached) Add(ctx context.Context, key string, value []byte) {
	_, err := c.cache.Add(ctx, key, value)
	c.failed(err)
}

// Increment adds to a number that the cache holds; what it does not hold stays so.
func (c *Cached) Increment(ctx context.Context, key string, delta uint64) {
	_, _, err := c.cache.Increment(ctx, key, delta)
	c.failed(err)
}

// Through returns a value for each of the keys (which must differ), in their order. What the cache
// does not hold is fetched, at the same time for all keys, and put there.
func (c *Cached) Through(ctx context.Context, keys []string, fetch func(ctx context.Context, key string) ([]byte, error)) ([][]byte, error) {
	held := c.Get(ctx, keys)
	values := make([][]byte, len(keys))
	if len(held) == len(keys) {
		for i, key := range keys {
			values[i] = held[key]
		}
		return values, nil
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, key := range keys {
		if value, hit := held[key]; hit {
			values[i] = value
			continue
		}
		group.Go(func() error {
			value, err := fetch(ctx, key)
			if err == nil {
				values[i] = value
				c.Set(ctx, key, value)
			}
			return err
		})
	}
	return values, group.Wait()
}

func (c *Cached) failed(err error) {
	if err != nil {
		total := c.failures.Add(1)
		c.log.Warn("cache failed", "cache", c.name, "error", err.Error(), "failures", total)
	}
}
