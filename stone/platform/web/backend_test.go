package web_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"loadstone.dev/stone/platform/web"
)

func TestABackendsReplicasAreCalledInTurn(t *testing.T) {
	var addresses []string
	for _, name := range []string{"a", "b"} {
		replica := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s", name, r.URL, body)
		}))
		t.Cleanup(replica.Close)
		addresses = append(addresses, strings.TrimPrefix(replica.URL, "http://"))
	}
	backend, err := web.DialHTTP("media-frontend", addresses...)
	check(t, err)
	defer backend.Close()
	check(t, backend.Connected(t.Context()))
	site, _ := newSite()
	heard := map[string]int{}
	for range 6 {
		heard[ask(backend.Forward(site), httptest.NewRequest("POST", "/get?x=1", strings.NewReader("body"))).Body.String()]++
	}
	if heard["a /get?x=1 body"] != 3 || heard["b /get?x=1 body"] != 3 {
		t.Errorf("heard %v", heard)
	}
}

func TestABackendThatIsAwayIs502(t *testing.T) {
	away := httptest.NewServer(nil)
	address := strings.TrimPrefix(away.URL, "http://")
	away.Close()
	backend, err := web.DialHTTP("media-frontend", address)
	check(t, err)
	defer backend.Close()
	site, log := newSite()
	answer := ask(backend.Forward(site), httptest.NewRequest("GET", "/x", nil))
	if answer.Code != 502 || !strings.Contains(answer.Body.String(), "media-frontend at "+address) || !strings.Contains(log.String(), "refused") {
		t.Errorf("%d %q, logged %q", answer.Code, answer.Body, log)
	}
	if err := backend.Connected(t.Context()); err == nil || !strings.Contains(err.Error(), "media-frontend") {
		t.Errorf("connected: %v", err)
	}
}

// A replica that refuses connections costs no request, and none is sent twice: what one has read may have been done.
func TestAReplicaThatIsAwayLosesItsTurnUntilItIsBack(t *testing.T) {
	var heard atomic.Int64
	serve := func(address string) *httptest.Server {
		listener, err := net.Listen("tcp", address)
		check(t, err)
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			heard.Add(1)
			body, _ := io.ReadAll(r.Body)
			if string(body) == "fail" {
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write(body)
		}))
		_ = server.Listener.Close()
		server.Listener = listener
		server.Start()
		t.Cleanup(server.Close)
		return server
	}
	here, away := serve("127.0.0.1:0"), serve("127.0.0.1:0")
	address := away.Listener.Addr().String()
	backend, err := web.DialHTTP("media-frontend", here.Listener.Addr().String(), address)
	check(t, err)
	defer backend.Close()
	site, _ := newSite()
	post := func(text string) *httptest.ResponseRecorder {
		return ask(backend.Forward(site), httptest.NewRequest("POST", "/x", strings.NewReader(text)))
	}
	away.Close()
	for range 6 {
		if answer := post("body"); answer.Code != 200 || answer.Body.String() != "body" {
			t.Fatalf("%d %q", answer.Code, answer.Body)
		}
		check(t, backend.Connected(t.Context()))
	}
	heard.Store(0)
	if answer := post("fail"); answer.Code != 502 || heard.Load() != 1 {
		t.Errorf("%d after %d requests", answer.Code, heard.Load())
	}
	back := serve(address)
	here.Close()
	if answer := post("body"); answer.Code != 200 { // tried last is tried all the same
		t.Errorf("%d %q", answer.Code, answer.Body)
	}
	back.Close()
	if answer := post("body"); answer.Code != 502 || !strings.Contains(answer.Body.String(), address) {
		t.Errorf("%d %q", answer.Code, answer.Body)
	}
}
