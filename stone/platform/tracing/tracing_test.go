package tracing

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/cache"
	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/tracing/tracetest"
)

func TestWithoutACollectorNothingIsInstalled(t *testing.T) {
	off, err := Start("hotel/rate", config.Traces{Sample: 1}, slog.New(slog.DiscardHandler), func(name string) *atomic.Int64 {
		t.Errorf("it counts %s", name)
		return nil
	})
	if off != nil || err != nil {
		t.Fatal(off, err)
	}
	mux, transport := http.NewServeMux(), &http.Transport{}
	if off.Handler(mux) != http.Handler(mux) || off.RoundTripper("need", transport) != http.RoundTripper(transport) {
		t.Error("HTTP is wrapped")
	}
	if off.ServerInterceptors() != nil || off.DialOptions("need") != nil {
		t.Error("gRPC is intercepted")
	}
	client := thrift.NewTStandardClient(nil, nil)
	if off.Processors() != nil || off.Thrift("need", client) != thrift.TClient(client) {
		t.Error("Thrift is wrapped")
	}
	store, err := documents.Open(t.Context(), "postgres://127.0.0.1:1/none")
	if err != nil {
		t.Fatal(err)
	}
	held, err := cache.Open("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if off.Documents(store) != store || off.Cache("need", held) != held {
		t.Error("stores are wrapped")
	}
	if off.RedisHooks("need") != nil {
		t.Error("Redis has a hook")
	}
	off.Stop()
}

// carried is a Thrift client that records the carriers of its calls.
type carried struct{ carriers []map[string]string }

func (c *carried) Call(_ context.Context, _ string, arguments, _ thrift.TStruct) (thrift.ResponseMeta, error) {
	c.carriers = append(c.carriers, arguments.(*idl.UniqueIdServiceComposeUniqueIdArgs).Carrier)
	return thrift.ResponseMeta{}, nil
}

func TestACarrierIsNotChangedButReplaced(t *testing.T) {
	to := tracetest.New(t)
	service := startTracing(t, "text", to.Address, 1, mostQueued)
	defer service.Stop()
	var notes carried
	client := service.Thrift("ids", &notes)
	call := func(ctx context.Context, carrier map[string]string) map[string]string {
		t.Helper()
		arguments := &idl.UniqueIdServiceComposeUniqueIdArgs{Carrier: carrier}
		if _, err := client.Call(ctx, "ComposeUniqueId", arguments, nil); err != nil {
			t.Fatal(err)
		}
		return notes.carriers[len(notes.carriers)-1]
	}
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	came := map[string]string{"traceparent": parent, "else": "kept"}
	ctx, span := service.serve(t.Context(), parent, "", "ComposeText")
	defer span.end()
	first, second := call(ctx, came), call(ctx, came)
	if first["traceparent"] == parent || first["traceparent"] == second["traceparent"] || first["else"] != "kept" || len(first) != 2 {
		t.Errorf("%v, then %v", first, second)
	}
	if came["traceparent"] != parent || len(came) != 2 {
		t.Errorf("what came is now %v", came)
	}
	if got := call(ctx, map[string]string{"traceparent": parent, "tracestate": "of=another"}); got["tracestate"] != "" {
		t.Errorf("the state of another caller goes on: %v", got)
	}
	if got := call(ctx, nil); len(got) != 1 {
		t.Errorf("of no carrier came %v", got)
	}
	if got := call(t.Context(), came); !reflect.DeepEqual(got, came) {
		t.Errorf("outside of a request %v came of %v", got, came)
	}
	off, _ := service.serve(t.Context(), parent[:53]+"00", "", "ComposeText")
	if got := call(off, came); got["traceparent"] != parent[:53]+"00" {
		t.Errorf("of a request that is not traced %v came", got)
	}
}

func TestOfARequestThatIsNotTracedAnAnswerIsNotWrapped(t *testing.T) {
	to := tracetest.New(t)
	service := startTracing(t, "front", to.Address, 0, mostQueued)
	defer service.Stop()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		if _, is := w.(*httptest.ResponseRecorder); !is {
			t.Errorf("the handler is given a %T", w)
		}
		_, _ = io.WriteString(w, "whole")
	})
	w := httptest.NewRecorder()
	service.Handler(mux).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Body.String() != "whole" {
		t.Error(w.Body)
	}
	service.expect(t, 0, 0)
}

func TestNames(t *testing.T) {
	for pattern, want := range map[string]string{
		"/hotels": "/hotels", "GET /users/{name}": "/users/{name}", "GET /{$}": "/", "desk.org/x": "/x", "": "*",
	} {
		if got := route(pattern); got != want {
			t.Errorf("route of %q is %q, want %q", pattern, got, want)
		}
	}
	if method("GET") != "GET" || method("MADEUP") != "HTTP" {
		t.Error("methods")
	}
}
