package service

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
	"google.golang.org/grpc"

	"loadstone.dev/stone/platform/cache"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/logging"
	"loadstone.dev/stone/platform/redis"
	"loadstone.dev/stone/platform/rpc"
	"loadstone.dev/stone/platform/tables"
	"loadstone.dev/stone/platform/thriftrpc"
	"loadstone.dev/stone/platform/web"
)

// Dial connects to a needed service; being connected is a condition of readiness.
func (h *Host) Dial(need string) (*grpc.ClientConn, error) {
	connection, err := rpc.Dial(h.Config.Needs[need], h.tracing.DialOptions(need)...)
	if err != nil {
		return nil, err
	}
	h.Health.Need(need, rpc.Connected(connection))
	h.OnStop(func() { _ = connection.Close() })
	return connection, nil
}

// DialThrift is Dial for a service that speaks Thrift.
func (h *Host) DialThrift(need string) (thrift.TClient, error) {
	client, err := h.openThrift(need)
	if err != nil {
		return nil, err
	}
	h.Health.Need(need, client.Connected)
	return h.tracing.Thrift(need, client), nil
}

// CallThrift is DialThrift without the condition. Of two services that call each other one must be ready first: Swarm
// and Kubernetes give a name only to who is ready, so each would wait for the other's.
func (h *Host) CallThrift(called string) (thrift.TClient, error) {
	client, err := h.openThrift(called)
	if err != nil {
		return nil, err
	}
	return h.tracing.Thrift(called, client), nil
}

func (h *Host) openThrift(called string) (*thriftrpc.Client, error) {
	client, err := thriftrpc.Dial(called, h.Config.Needs[called]...)
	if err != nil {
		return nil, err
	}
	h.OnStop(client.Close)
	return client, nil
}

// DialHTTP is Dial for a service that speaks HTTP.
func (h *Host) DialHTTP(need string) (*web.Backend, error) {
	backend, err := web.DialHTTP(need, h.Config.Needs[need]...)
	if err != nil {
		return nil, err
	}
	backend.Wrap(func(next http.RoundTripper) http.RoundTripper { return h.tracing.RoundTripper(need, next) })
	h.Health.Need(need, backend.Connected)
	h.OnStop(backend.Close)
	return backend, nil
}

// OpenRedis opens a needed Redis, with at most so many connections; an answer of it is a condition of readiness.
func (h *Host) OpenRedis(need string, connections int) (*goredis.Client, error) {
	client, err := redis.Open(connections, h.Config.StorePassword, h.Config.Needs[need]...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", need, err)
	}
	for _, hook := range h.tracing.RedisHooks(need) {
		client.AddHook(hook)
	}
	h.Health.Need(need, func(ctx context.Context) error { return client.Ping(ctx).Err() })
	h.OnStop(func() { _ = client.Close() })
	return client, nil
}

// OpenDocuments opens the service's document store; an answer of it is a condition of readiness.
func (h *Host) OpenDocuments(ctx context.Context) (documents.Store, error) {
	store, err := documents.Open(ctx, h.Config.Documents)
	if err != nil {
		return nil, fmt.Errorf("STONE_DOCUMENTS: %w", err)
	}
	h.Health.Need("documents", store.Ping)
	h.OnStop(func() { _ = store.Close(context.Background()) })
	return h.tracing.Documents(store), nil
}

// OpenTables opens the service's PostgreSQL; that it answers and has the table is a condition of readiness.
func (h *Host) OpenTables(ctx context.Context, table string) (*pgxpool.Pool, error) {
	pool, err := tables.Open(ctx, h.Config.Documents, h.tracing.Tables())
	if err != nil {
		return nil, fmt.Errorf("STONE_DOCUMENTS: %w", err)
	}
	h.Health.Need("tables", tables.Exists(pool, table))
	h.OnStop(pool.Close)
	return pool, nil
}

// OpenCache opens a needed cache; an answer of it is a condition of readiness.
func (h *Host) OpenCache(need string) (*Cached, error) {
	opened, err := h.OpenMemcached(need)
	if err != nil {
		return nil, err
	}
	return &Cached{
		cache: opened, name: need, log: logging.NewLimited(h.Log), failures: h.Counter(need + " failures"),
	}, nil
}

// OpenMemcached is OpenCache where failures count: for what is kept nowhere else.
func (h *Host) OpenMemcached(need string) (cache.Cache, error) {
	opened, err := cache.Open(strings.Join(h.Config.Needs[need], ","))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", need, err)
	}
	h.Health.Need(need, func(context.Context) error { return opened.Ping() })
	h.OnStop(func() { _ = opened.Close() })
	return h.tracing.Cache(need, opened), nil
}
