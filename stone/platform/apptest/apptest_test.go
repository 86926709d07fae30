package apptest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/service"
)

// services are a front end and the service that it calls, which needs a store of each kind.
var services = map[string]service.Definition{
	"front": {
		Wants: config.Wants{Needs: []string{"ids"}, Secret: true},
		Start: func(_ context.Context, host *service.Host) error {
			client, err := host.DialThrift("ids")
			if err != nil {
				return err
			}
			ids := social.NewUniqueIdServiceClient(client)
			host.HTTP = http.NewServeMux()
			host.HTTP.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
				if id, err := ids.ComposeUniqueId(r.Context(), 1, social.PostType_POST, nil); err != nil || id != 7 {
					w.WriteHeader(http.StatusBadGateway)
				}
				_, _ = io.WriteString(w, host.Config.Secret)
			})
			return nil
		},
	},
	"ids": {
		Wants: config.Wants{Needs: []string{"memcached-ids", "redis-ids"}, Documents: true},
		Start: func(ctx context.Context, host *service.Host) error {
			cache, err := host.OpenCache("memcached-ids")
			if err != nil {
				return err
			}
			if _, err := host.OpenRedis("redis-ids", 8); err != nil {
				return err
			}
			if _, err := host.OpenDocuments(ctx); err != nil {
				return err
			}
			host.Thrift = social.NewUniqueIdServiceProcessor(seven{cache})
			return nil
		},
	},
}

type seven struct{ cache *service.Cached }

func (s seven) ComposeUniqueId(ctx context.Context, _ int64, _ social.PostType, _ map[string]string) (int64, error) {
	s.cache.Set(ctx, "last", []byte("7"))
	return 7, nil
}

func TestAnApplicationRunsOverItsStores(t *testing.T) {
	a := apptest.Start(t, "test", services, "", servertest.Postgres, "ids")
	a.WaitReady()
	answer := func() (int, string) {
		response, err := http.Get(a.URL("front"))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(body)
	}
	if status, body := answer(); status != 200 || body != apptest.Secret {
		t.Errorf("%d %s", status, body)
	}
	if err := a.Store().Ping(t.Context()); err != nil {
		t.Error(err)
	}

	for need, link := range a.Links {
		link.Cut()
		for twin := range 2 {
			apptest.Eventually(t, need+" is missed", func() bool {
				_, says := a.Replica("ids", twin).Ready()
				return strings.Contains(says, `"degraded"`) && strings.Contains(says, need)
			})
		}
		link.Mend()
	}
	a.WaitReady()

	a.Links["memcached-ids"].Cut()
	for range 4 {
		if id, err := social.NewUniqueIdServiceClient(a.Thrift("ids")).ComposeUniqueId(t.Context(), 1, 0, nil); err != nil || id != 7 {
			t.Error(id, err)
		}
	}
	counted := a.Replica("ids").Counter("memcached-ids failures") + a.Replica("ids", 1).Counter("memcached-ids failures")
	if counted < 4 {
		t.Errorf("%d failures of the cache", counted)
	}

	for twin := range 2 {
		if code := a.Replica("ids", twin).Stop(); code != service.Done || !strings.Contains(a.Replica("ids", twin).Log(), "stopped") {
			t.Errorf("exit %d, log %s", code, a.Replica("ids", twin).Log())
		}
	}
	if status, _ := answer(); status != http.StatusBadGateway {
		t.Errorf("without ids: %d", status)
	}
	a.Replica("ids", 1).Start()
	apptest.Eventually(t, "the twin answers", func() bool {
		status, _ := answer()
		return status == 200
	})
}
