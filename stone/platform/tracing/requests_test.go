package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/tracing/tracetest"
)

// services are a front end, over gRPC a service with a cache and documents, and over Thrift one that calls another, which
// has a Redis, twice at the same time.
var services = map[string]service.Definition{
	"front":  {Wants: config.Wants{Needs: []string{"rate", "text", "upload"}}, Start: startFront},
	"upload": {Start: startUpload},
	"rate":   {Wants: config.Wants{Needs: []string{"memcached-rate"}, Documents: true}, Start: startRate},
	"text":   {Wants: config.Wants{Needs: []string{"ids"}}, Start: startText},
	"ids":    {Wants: config.Wants{Needs: []string{"redis-ids"}}, Start: startIDs},
}

func startFront(_ context.Context, host *service.Host) error {
	connection, err := host.Dial("rate")
	if err != nil {
		return err
	}
	client, err := host.DialThrift("text")
	if err != nil {
		return err
	}
	backend, err := host.DialHTTP("upload")
	if err != nil {
		return err
	}
	rates, texts := hotelpb.NewRateClient(connection), idl.NewTextServiceClient(client)
	host.HTTP = http.NewServeMux()
	host.HTTP.HandleFunc("GET /rates/{hotel}", func(w http.ResponseWriter, r *http.Request) {
		_, err := rates.GetRates(r.Context(), &hotelpb.RatesRequest{HotelIds: []string{r.PathValue("hotel")}})
		say(w, err)
	})
	host.HTTP.HandleFunc("/texts", func(w http.ResponseWriter, r *http.Request) {
		_, err := texts.ComposeText(r.Context(), 1, r.URL.Query().Get("text"), map[string]string{"else": "kept"})
		say(w, err)
	})
	inner := http.NewServeMux()
	inner.HandleFunc("POST /api/upload", func(w http.ResponseWriter, r *http.Request) {
		response, err := backend.RoundTrip(r)
		if err == nil {
			_, err = io.Copy(w, response.Body)
			err = errors.Join(err, response.Body.Close())
		}
		say(w, err)
	})
	host.HTTP.Handle("/api/", inner)
	host.HTTP.HandleFunc("/style.css", func(http.ResponseWriter, *http.Request) {})
	return nil
}

func say(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func startUpload(_ context.Context, host *service.Host) error {
	host.HTTP = http.NewServeMux()
	host.HTTP.HandleFunc("/api/upload", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "taken") })
	return nil
}

type rate struct {
	hotelpb.UnimplementedRateServer
	cache *service.Cached
	store documents.Collection
}

func startRate(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	cache, err := host.OpenCache("memcached-rate")
	if err != nil {
		return err
	}
	collection := store.Collection("rate-db", "inventory")
	// What a service does by itself is no trace.
	host.Prepare("indexes", func(ctx context.Context) error {
		_, err := collection.Count(ctx)
		return errors.Join(err, collection.EnsureIndex(ctx, "id", true))
	})
	hotelpb.RegisterRateServer(host.RPC, rate{cache: cache, store: collection})
	return nil
}

// GetRates reads the cache, then the store, then writes to the cache.
func (r rate) GetRates(ctx context.Context, request *hotelpb.RatesRequest) (*hotelpb.RatePlans, error) {
	if request.HotelIds[0] == "wrong" {
		return nil, errors.New("no such hotel")
	}
	_, err := r.cache.Through(ctx, request.HotelIds, func(ctx context.Context, id string) ([]byte, error) {
		var found struct{ ID string }
		if err := r.store.Get(ctx, &found, documents.Equal("id", id)); !errors.Is(err, documents.ErrNotFound) {
			return nil, fmt.Errorf("found what was not stored: %w", err)
		}
		return []byte("none"), nil
	})
	return &hotelpb.RatePlans{}, err
}

type text struct{ ids idl.UniqueIdService }

func startText(_ context.Context, host *service.Host) error {
	ids, err := host.DialThrift("ids")
	if err == nil {
		host.Thrift = idl.NewTextServiceProcessor(text{idl.NewUniqueIdServiceClient(ids)})
	}
	return err
}

// ComposeText passes its carrier on to two calls at the same time.
func (s text) ComposeText(ctx context.Context, reqID int64, words string, carrier map[string]string) (*idl.TextServiceReturn, error) {
	if carrier["else"] != "kept" {
		return nil, fmt.Errorf("the carrier says %v", carrier)
	}
	var all errgroup.Group
	for kind := range 2 {
		all.Go(func() error {
			_, err := s.ids.ComposeUniqueId(ctx, reqID, idl.PostType(kind), carrier)
			return err
		})
	}
	if words == "wrong" {
		return nil, errors.Join(all.Wait(), &idl.ServiceException{ErrorCode: idl.ErrorCode_SE_THRIFT_HANDLER_ERROR})
	}
	return &idl.TextServiceReturn{Text: words}, all.Wait()
}

type ids struct{ redis *goredis.Client }

func startIDs(_ context.Context, host *service.Host) error {
	redis, err := host.OpenRedis("redis-ids", 8)
	if err == nil {
		host.Thrift = idl.NewUniqueIdServiceProcessor(ids{redis})
	}
	return err
}

// ComposeUniqueId uses a command for one kind and a pipeline for the other.
func (s ids) ComposeUniqueId(ctx context.Context, _ int64, kind idl.PostType, _ map[string]string) (int64, error) {
	if kind == 0 {
		if err := s.redis.Get(ctx, "nothing").Err(); !errors.Is(err, goredis.Nil) {
			return 0, fmt.Errorf("found what was not stored: %w", err)
		}
		return 1, nil
	}
	_, err := s.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
		p.Incr(ctx, "one")
		return p.Incr(ctx, "two").Err()
	})
	return 2, err
}

func ask(t *testing.T, method, url string, headers ...string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

const ratesTree = `front serves GET /rates/{hotel}
  front calls hotel.Rate/GetRates > rate
    rate serves hotel.Rate/GetRates
      rate calls MGET > memcached-rate
      rate calls SET > memcached-rate
      rate calls get inventory > documents-rate
`

const textsTree = `front serves POST /texts
  front calls ComposeText > text
    text serves ComposeText
      text calls ComposeUniqueId > ids
        ids serves ComposeUniqueId
          ids calls GET > redis-ids
      text calls ComposeUniqueId > ids
        ids serves ComposeUniqueId
          ids calls PIPELINE > redis-ids
`

const uploadTree = `front serves POST /api/upload
  front calls POST /api/upload > upload
    upload serves POST /api/upload
`

func TestARequestIsATree(t *testing.T) {
	collector := tracetest.New(t)
	a := apptest.StartTraced(t, collector.Address, "test", services, "", servertest.Postgres)
	a.WaitReady()
	seen := 0
	// tree sends a request and returns its spans alone.
	tree := func(method, path string, status, count int, headers ...string) []tracetest.Span {
		t.Helper()
		if got := ask(t, method, a.URL("front")+path, headers...); got != status {
			t.Errorf("%s: status %d, want %d", path, got, status)
		}
		spans := collector.Wait(t, path, func(spans []tracetest.Span) bool { return len(spans) >= seen+count })[seen:]
		seen += len(spans)
		return spans
	}
	for _, c := range []struct {
		method, path, want string
	}{{"GET", "/rates/7", ratesTree}, {"POST", "/texts?text=x", textsTree}, {"POST", "/api/upload", uploadTree}} {
		if got := tracetest.Tree(t, tree(c.method, c.path, 200, strings.Count(c.want, "\n"))).String(); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.path, got, c.want)
		}
	}
	for _, one := range collector.Spans() {
		if one.Failed || one.Namespace != "test" || one.Instance != one.Service+"-1" || one.Host == "" || one.End < one.Start {
			t.Errorf("%+v", one)
		}
	}

	t.Run("of a caller's trace", func(t *testing.T) {
		const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"
		for _, path := range []string{"/rates/8", "/texts"} {
			_ = ask(t, "POST", a.URL("front")+path, "traceparent", caller+"00") // not sampled: no spans
		}
		for _, state := range []string{"of=\xe9", "of=a\tb", "of=" + strings.Repeat("x", 1<<16)} { // not passed on
			for flags, spans := range map[string]int{"00": 0, "01": 4} {
				_ = tree("GET", "/rates/7", 200, spans, "traceparent", caller+flags, "tracestate", state)
			}
		}
		for _, one := range tree("POST", "/texts", 200, 9, "traceparent", caller+"01") {
			if one.Trace != "0af7651916cd43dd8448eb211c80319c" || one.Name == "POST /texts" && one.Parent != "b7ad6b7169203331" {
				t.Errorf("%+v", one)
			}
		}
	})
	t.Run("that failed", func(t *testing.T) {
		for _, path := range []string{"/rates/wrong", "/texts?text=wrong"} {
			failed := 0
			for _, one := range tree("GET", path, 500, map[string]int{"/rates/wrong": 3, "/texts?text=wrong": 9}[path]) {
				if one.Failed {
					failed++
				}
				if one.Failed != (one.Peer == "rate" || one.Peer == "text" || one.Service == "rate" || one.Service == "front" ||
					one.Name == "ComposeText") {
					t.Errorf("%s: %v failed: %v", path, one, one.Failed)
				}
			}
			if failed != 3 {
				t.Errorf("%s: %d spans failed", path, failed)
			}
		}
	})
	t.Run("of no route", func(t *testing.T) {
		for _, path := range []string{"/healthz", "/readyz", "/style.css"} {
			ask(t, "GET", a.URL("front")+path)
		}
		for path, name := range map[string]string{"/no/such": "GET *", "/api/no": "GET *"} {
			if spans := tree("GET", path, 404, 1); spans[0].Name != name {
				t.Errorf("%s: %v", path, spans)
			}
		}
	})
	t.Run("is counted", func(t *testing.T) {
		received := make(map[string]int)
		for _, one := range collector.Spans() {
			received[one.Service]++
		}
		for name := range services {
			produced := a.Replica(name).Counter("spans produced")
			if dropped := a.Replica(name).Counter("spans dropped"); int(produced) != received[name] || dropped != 0 {
				t.Errorf("%s: produced %d, dropped %d, received %d", name, produced, dropped, received[name])
			}
			if reported := collector.Reported(name+"-1", "stone-spans-produced"); reported != fmt.Sprint(produced) {
				t.Errorf("%s reported %s, want %d", name, reported, produced)
			}
		}
	})
}
