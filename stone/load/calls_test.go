package load

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

// secure serves HTTPS and says which protocols and how many connections it saw.
type secure struct {
	*httptest.Server
	mutex       sync.Mutex
	protocols   map[string]int
	connections int
	ca          string
}

func serveTLS(t *testing.T, handler http.HandlerFunc) *secure {
	t.Helper()
	s := &secure{protocols: map[string]int{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		s.protocols[r.Proto]++
		s.mutex.Unlock()
		handler(w, r)
	}))
	s.EnableHTTP2 = true
	s.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		s.mutex.Lock()
		if state == http.StateNew {
			s.connections++
		}
		s.mutex.Unlock()
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	s.ca = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(s.ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *secure) plan(t *testing.T, keys map[string]any) *Plan {
	t.Helper()
	keys["target"], keys["tls"] = s.URL, map[string]any{"ca": s.ca}
	return (&server{listener: s.Listener}).plan(t, keys)
}

type connKey struct{}

// hangUp ends the connection of a request without an answer.
func hangUp(_ http.ResponseWriter, r *http.Request) {
	_ = r.Context().Value(connKey{}).(net.Conn).Close()
}

// TLS and HTTP/2 carry the same requests with the same accounting, over exactly so many connections.
func TestTLSAndHTTP2(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		protocol, seen, policy string
		connections            int
	}{{"http/1.1", "HTTP/1.1", "fixed", 6}, {"http/2", "HTTP/2.0", "fixed", 3}, {"http/1.1", "HTTP/1.1", "new", 100}} {
		s := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/bad" {
				w.WriteHeader(http.StatusTeapot)
			}
			_, _ = w.Write([]byte(`{"path":"` + r.URL.Path + `"}`))
		})
		summary, _ := drive(t, s.plan(t, map[string]any{"protocol": c.protocol, "policy": c.policy, "connections": min(c.connections, 10),
			"threads": 2, "arrival": rate("constant", 200), "timeout_s": 60, "operations": json.RawMessage(`[
			{"name":"good","path":"/good","weight":4,"expect":{"json":{"path":"path","equals":"/good"}}},{"name":"bad","path":"/bad"}]`)}))
		good, bad := summary.Operations[0].Counts, summary.Operations[1].Counts
		if good.Completed != good.Offered || bad.Errors != bad.Offered || summary.Errors[0].Kind != "status 418" || good.Offered+bad.Offered != 100 {
			t.Errorf("%+v: %+v %+v", c, summary.Counts, summary.Errors)
		}
		s.mutex.Lock()
		// The reachability probe is a connection too, and with a new one for each request so is the first of each slot:
		// they carry no request.
		if s.protocols[c.seen] != 100 || s.connections > c.connections+11 || s.connections < c.connections {
			t.Errorf("%+v: %v over %d connections", c, s.protocols, s.connections)
		}
		s.mutex.Unlock()
	}
}

// A slot whose call has timed out takes requests again once the call has ended.
func TestCallsThatTimeOut(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	n := 0
	s := serveTLS(t, func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		n++
		hang := n <= 5
		mutex.Unlock()
		if hang {
			<-r.Context().Done()
		}
	})
	summary, _ := drive(t, s.plan(t, map[string]any{"protocol": "http/2", "connections": 1, "streams": 8, "timeout_s": 1,
		"arrival": rate("constant", 50), "duration_s": 2, "drain_s": 60}))
	if c := summary.Counts; c.Timeouts < 5 || c.Completed+c.Late < 20 || c.Errors != 0 {
		t.Errorf("%+v %+v", c, summary.Errors)
	}
}

// gRPC calls go by the server's reflection; a method that it lacks is known before the load starts.
func TestGRPC(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	backend := grpc.NewServer()
	healthpb.RegisterHealthServer(backend, health.NewServer())
	reflection.Register(backend)
	go func() { _ = backend.Serve(listener) }()
	t.Cleanup(backend.Stop)
	s := &server{listener: listener}
	keys := map[string]any{"protocol": "grpc", "connections": 2, "streams": 10, "arrival": rate("constant", 100), "timeout_s": 60,
		"operations": json.RawMessage(`[{"name":"check","path":"/grpc.health.v1.Health/Check","body":"{}","expect":{"json":{"path":"status","equals":"SERVING"}}},
			{"name":"unknown","path":"/grpc.health.v1.Health/Check","body":"{\"service\":\"x\"}"}]`)}
	summary, _ := drive(t, s.plan(t, keys))
	good, bad := summary.Operations[0].Counts, summary.Operations[1].Counts
	if good.Completed != good.Offered || bad.Errors != bad.Offered || bad.Offered+good.Offered != 50 {
		t.Errorf("%+v %+v", summary.Counts, summary.Errors)
	}
	for _, e := range summary.Errors {
		if e.Kind != "grpc NotFound" {
			t.Errorf("%+v", e)
		}
	}
	keys["operations"] = json.RawMessage(`[{"name":"visit","steps":[
		{"name":"first","path":"/grpc.health.v1.Health/Check","body":"{}","extract":{"kind":"header:content-type"}},
		{"name":"second","path":"/grpc.health.v1.Health/Check","body":"{}","headers":{"x-kind":"{kind}"}}]}]`)
	if summary, _ := drive(t, s.plan(t, keys)); summary.Counts.Completed != summary.Counts.Offered {
		t.Errorf("a session: %+v %+v", summary.Counts, summary.Errors)
	}
	keys["operations"] = json.RawMessage(`[{"name":"check","path":"/grpc.health.v1.Health/Chek","body":"{}"}]`)
	if _, err := Run(t.Context(), s.plan(t, keys), t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "Chek") {
		t.Errorf("an unknown method: %v", err)
	}
}

// A target that does not speak as planned is named before the load starts, once, with what to do.
func TestTargetsThatSpeakOtherwise(t *testing.T) {
	t.Parallel()
	s := serveTLS(t, func(http.ResponseWriter, *http.Request) {})
	plain := serve(t, ok)
	for name, c := range map[string]struct {
		plan *Plan
		says string
	}{
		"another authority":                 {s.plan(t, map[string]any{}), "give the authority's certificate"},
		"a new connection for each request": {s.plan(t, map[string]any{"policy": "new"}), "give the authority's certificate"},
		"not TLS":                           {plain.plan(t, map[string]any{"target": "https://" + plain.listener.Addr().String()}), "closed in the handshake"},
		"not HTTP/2":                        {plain.plan(t, map[string]any{"protocol": "http/2"}), "HTTP/2"},
	} {
		if c.plan.TLS != nil {
			c.plan.TLS.CA = ""
		}
		_, err := Run(t.Context(), c.plan, t.TempDir(), nil)
		if !errors.Is(err, ErrOtherwise) || strings.Count(err.Error(), c.says) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
