package redis_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"loadstone.dev/stone/platform/redis"
	"loadstone.dev/stone/platform/servertest"
)

// As many callers as there are connections wait at the same time, each on its own.
func TestTheBoundOfConnectionsIsTheCallers(t *testing.T) {
	const connections = 100
	address := servertest.Redis(t)
	client, err := redis.Open(connections, "", address)
	if err != nil {
		t.Fatal(err)
	}
	other, err := redis.Open(1, "", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = client.Close(), other.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var waiting sync.WaitGroup
	for range connections {
		waiting.Go(func() {
			if err := client.BLPop(ctx, 0, "list").Err(); err != nil {
				t.Error(err)
			}
		})
	}
	for {
		state, err := other.Info(ctx, "clients").Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(state, fmt.Sprintf("blocked_clients:%d\r\n", connections)) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	for range connections {
		if err := other.RPush(ctx, "list", 1).Err(); err != nil {
			t.Fatal(err)
		}
	}
	waiting.Wait()
}
