// Package cache keeps short-lived values in memcached behind a narrow interface.
//
// A cache only saves work: a caller may treat every error as a miss and read its document store.
package cache

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// The published Hotel Reservation's settings (MEMC_TIMEOUT 2 s, maxIdleConns 512).
const (
	timeout            = 2 * time.Second
	maxIdleConnections = 512
)

// Cache maps keys (at most 250 bytes, no spaces or control characters) to values that may be evicted
// and, without a lifetime, do not expire. Safe for concurrent use. A context says which request
// an access is part of; what ends an access is its own timeout.
type Cache interface {
	// GetMulti returns the keys that the cache holds, in one request a server. With an error it
	// returns what the servers that did answer hold.
	GetMulti(ctx context.Context, keys []string) (map[string][]byte, error)
	// Set stores the value whatever was there.
	Set(ctx context.Context, key string, value []byte) error
	// Add stores the value unless the key is held already, and says whether it stored it.
	Add(ctx context.Context, key string, value []byte) (added bool, err error)
	// AddFor is Add of a value that expires, after whole seconds of which the last may be cut short.
	AddFor(ctx context.Context, key string, value []byte, lifetime time.Duration) (added bool, err error)
	// Increment adds delta to a decimal number; found is false if the key is not held.
	Increment(ctx context.Context, key string, delta uint64) (value uint64, found bool, err error)
	// Flush forgets every key on every server.
	Flush() error
	// Ping checks that every server answers.
	Ping() error
	// Close returns the idle connections.
	Close() error
}

// Open prepares a cache over memcached servers, "host:port[,host:port...]". Each key lives on the
// server that its hash picks. It connects lazily, and looks a host's name up at each connection,
// so that a service can start before its cache and a cache can move.
func Open(addresses string) (Cache, error) {
	var servers serverList
	for address := range strings.SplitSeq(addresses, ",") {
		host, port, err := net.SplitHostPort(address)
		_, notANumber := strconv.ParseUint(port, 10, 16)
		if err != nil || host == "" || notANumber != nil {
			return nil, fmt.Errorf("cache: address %q is not host:port", address)
		}
		servers = append(servers, server(address))
	}
	client := memcache.NewFromSelector(servers)
	client.Timeout = timeout
	client.MaxIdleConns = maxIdleConnections
	return &memcached{client}, nil
}

type memcached struct{ client *memcache.Client }

func (m *memcached) GetMulti(_ context.Context, keys []string) (map[string][]byte, error) {
	items, err := m.client.GetMulti(keys)
	values := make(map[string][]byte, len(items))
	for key, item := range items {
		values[key] = item.Value
	}
	return values, err
}

func (m *memcached) Set(_ context.Context, key string, value []byte) error {
	return m.client.Set(&memcache.Item{Key: key, Value: value})
}

func (m *memcached) Add(ctx context.Context, key string, value []byte) (added bool, err error) {
	return m.AddFor(ctx, key, value, 0)
}

func (m *memcached) AddFor(_ context.Context, key string, value []byte, lifetime time.Duration) (added bool, err error) {
	err = m.client.Add(&memcache.Item{Key: key, Value: value, Expiration: int32(lifetime / time.Second)})
	if errors.Is(err, memcache.ErrNotStored) {
		return false, nil
	}
	return err == nil, err
}

func (m *memcached) Increment(_ context.Context, key string, delta uint64) (value uint64, found bool, err error) {
	value, err = m.client.Increment(key, delta)
	if errors.Is(err, memcache.ErrCacheMiss) {
		return 0, false, nil
	}
	return value, err == nil, err
}

func (m *memcached) Flush() error { return m.client.FlushAll() }
func (m *memcached) Ping() error  { return m.client.Ping() }
func (m *memcached) Close() error { return m.client.Close() }

// server is a host:port whose name is looked up when it is dialled; memcache.ServerList would do so
// once, when the service starts.
type server string

func (server) Network() string  { return "tcp" }
func (s server) String() string { return string(s) }

// serverList picks a key's server as memcache.ServerList does: CRC-32 modulo their number.
type serverList []server

func (l serverList) PickServer(key string) (net.Addr, error) {
	return l[crc32.ChecksumIEEE([]byte(key))%uint32(len(l))], nil
}

func (l serverList) Each(visit func(net.Addr) error) error {
	for _, one := range l {
		if err := visit(one); err != nil {
			return err
		}
	}
	return nil
}
