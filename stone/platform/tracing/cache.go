package tracing

import (
	"context"
	"time"

	"loadstone.dev/stone/platform/cache"
)

// Cache has each access to a cache be a span.
func (t *Tracing) Cache(need string, next cache.Cache) cache.Cache {
	if t == nil {
		return next
	}
	return tracedCache{next, t.neighbour(need)}
}

type tracedCache struct {
	cache.Cache
	need *neighbour
}

func (c tracedCache) GetMulti(ctx context.Context, keys []string) (map[string][]byte, error) {
	span := c.need.access(ctx, "MGET", "")
	values, err := c.Cache.GetMulti(ctx, keys)
	span.endWith(err)
	return values, err
}

func (c tracedCache) Set(ctx context.Context, key string, value []byte) error {
	span := c.need.access(ctx, "SET", "")
	err := c.Cache.Set(ctx, key, value)
	span.endWith(err)
	return err
}

func (c tracedCache) Add(ctx context.Context, key string, value []byte) (added bool, err error) {
	return c.AddFor(ctx, key, value, 0)
}

func (c tracedCache) AddFor(ctx context.Context, key string, value []byte, lifetime time.Duration) (added bool, err error) {
	span := c.need.access(ctx, "ADD", "")
	added, err = c.Cache.AddFor(ctx, key, value, lifetime)
	span.endWith(err)
	return added, err
}

func (c tracedCache) Increment(ctx context.Context, key string, delta uint64) (value uint64, found bool, err error) {
	span := c.need.access(ctx, "INCR", "")
	value, found, err = c.Cache.Increment(ctx, key, delta)
	span.endWith(err)
	return value, found, err
}
