// Package redis opens clients of Redis as every service sets them: lazily, so that a service can start before its store.
package redis

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const timeout = 2 * time.Second

func init() {
	logging.Disable() // errors go to the caller, who counts them; the library would print each attempt too
}

// Open prepares a client of at most so many connections. Of several addresses each new connection takes the next: servers that do not know each other
// then hold a part of the data each, which is what a published deployment did. The password, which may be empty, is sent once a connection.
func Open(connections int, password string, addresses ...string) (*goredis.Client, error) {
	if len(addresses) == 0 {
		return nil, errors.New("redis: no address")
	}
	var next atomic.Uint64
	dialer := net.Dialer{Timeout: timeout}
	return goredis.NewClient(&goredis.Options{
		Addr: addresses[0], Password: password,
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, addresses[next.Add(1)%uint64(len(addresses))])
		},
		ReadTimeout: timeout, WriteTimeout: timeout, PoolSize: connections, ContextTimeoutEnabled: true,
		MaxRetries:      -1, // a write that may have been done is not done again
		DisableIdentity: true,
		// Of a managed service alone; asking costs a round trip a connection.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}), nil
}
