package seeding

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/platform/cache"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/password"
	"loadstone.dev/stone/platform/redis"
	"loadstone.dev/stone/platform/tables"
)

const (
	// slowest answer of a Redis: requests are much larger than a service's.
	slowest = time.Minute
	// redisConnections is as many as seeding has use for.
	redisConnections = 64
	firstPause       = 50 * time.Millisecond
	longestPause     = 2 * time.Second
	// usualWait is how long stores are waited for that do not answer yet, unless the plan says otherwise.
	usualWait = 30 * time.Second
)

// Opened is a plan's stores and caches, opened.
type Opened struct {
	Documents map[string]documents.Store // by service
	Tables    map[string]*pgxpool.Pool   // by service
	Redis     map[string]*goredis.Client // by name
	Plan      Plan
	Progress  *Progress
	caches    map[string]cache.Cache
	keeps     Stores
}

// open opens without asking any of them.
func open(ctx context.Context, plan Plan, keeps Stores) (opened *Opened, err error) {
	addresses, err := plan.storeOf(keeps)
	if err != nil {
		return nil, err
	}
	if err := plan.hasRedis(keeps.Redis); err != nil {
		return nil, err
	}
	o := &Opened{Documents: map[string]documents.Store{}, Tables: map[string]*pgxpool.Pool{}, Redis: map[string]*goredis.Client{},
		Plan: plan, Progress: &Progress{out: plan.Progress}, caches: map[string]cache.Cache{}, keeps: keeps}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	for _, service := range keeps.Tables {
		if o.Tables[service], err = tables.Open(ctx, password.In(addresses[service], plan.Password), nil); err != nil {
			delete(o.Tables, service)
			return nil, fmt.Errorf("stores: %s: %w", service, err)
		}
	}
	for _, service := range keeps.Services {
		if o.Documents[service], err = documents.Open(ctx, password.In(addresses[service], plan.Password)); err != nil {
			delete(o.Documents, service)
			return nil, fmt.Errorf("stores: %s: %w", service, err)
		}
	}
	for name, address := range plan.Redis {
		client, err := redis.Open(redisConnections, plan.Password, address)
		if err != nil {
			return nil, fmt.Errorf("redis: %s: %w", name, err)
		}
		o.Redis[name] = client.WithTimeout(slowest)
	}
	for name, addresses := range plan.Caches {
		opened, err := cache.Open(addresses)
		if err != nil {
			return nil, fmt.Errorf("caches: %s: %w", name, err)
		}
		o.caches[name] = opened
	}
	return o, nil
}

func (o *Opened) close() {
	for _, store := range o.Documents {
		_ = store.Close(context.Background())
	}
	for _, pool := range o.Tables {
		pool.Close()
	}
	for _, client := range o.Redis {
		_ = client.Close()
	}
	for _, one := range o.caches {
		_ = one.Close()
	}
}

// Collection is the collection of documents at a location.
func (o *Opened) Collection(at documents.Location) documents.Collection {
	return at.In(o.Documents[at.Service])
}

// wait queries each store and cache until it answers, for as long as the plan says.
func (o *Opened) wait(ctx context.Context) error {
	within := o.Plan.wait()
	group, ctx := errgroup.WithContext(ctx)
	for service, store := range o.Documents {
		group.Go(func() error { return answers(ctx, within, "store documents-"+service, store.Ping) })
	}
	for service, pool := range o.Tables {
		group.Go(func() error { return answers(ctx, within, "store postgres-"+service, pool.Ping) })
	}
	for name, client := range o.Redis {
		group.Go(func() error {
			return answers(ctx, within, "store "+name, func(ctx context.Context) error { return client.Ping(ctx).Err() })
		})
	}
	for name, address := range o.Plan.CouchDB {
		group.Go(func() error {
			return answers(ctx, within, "store "+name, func(ctx context.Context) error { return pingCouchDB(ctx, address) })
		})
	}
	for name, one := range o.caches {
		group.Go(func() error {
			return answers(ctx, within, "cache "+name, func(context.Context) error { return one.Ping() })
		})
	}
	return group.Wait()
}

// pingCouchDB uses no web proxy: none leads to a node.
func pingCouchDB(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/_up", nil)
	if err != nil {
		return err
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	return nil
}

func answers(ctx context.Context, within time.Duration, what string, ping func(context.Context) error) error {
	deadline, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var last error
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := ping(deadline)
		if err == nil {
			return nil
		}
		if last == nil || deadline.Err() == nil { // its end says nothing about the store
			last = err
		}
		select {
		case <-deadline.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%s has not answered for %s: %w; is it running, and is its address right?", what, within, last)
		case <-time.After(pause):
		}
	}
}

// forget empties what only remembers: every cache, and each Redis that holds no part of the seed.
func (o *Opened) forget(ctx context.Context) error {
	var failed []error
	for name, one := range o.caches {
		if err := one.Flush(); err != nil {
			failed = append(failed, fmt.Errorf("cache %s: %w", name, err))
		}
	}
	for name, client := range o.Redis {
		if slices.Contains(o.keeps.Redis, name) {
			continue
		}
		if err := client.FlushDB(ctx).Err(); err != nil {
			failed = append(failed, fmt.Errorf("store %s: %w", name, err))
		}
	}
	return errors.Join(failed...)
}
