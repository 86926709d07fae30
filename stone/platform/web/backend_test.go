package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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
