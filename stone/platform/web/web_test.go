package web_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/web"
)

var errNoUser = errors.New("nobody")

func explain(err error) *web.Problem {
	if errors.Is(err, errNoUser) {
		return web.Problemf(http.StatusNotFound, "no such user")
	}
	return nil
}

// newSite makes a site and the buffer of its log.
func newSite() (web.Site, *bytes.Buffer) {
	log := new(bytes.Buffer)
	return web.NewSite(slog.New(slog.NewTextHandler(log, nil)), explain), log
}

func ask(handler http.Handler, r *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer
}

func TestErrorsBecomeStatusAndText(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		text   string
		logged bool
	}{
		{web.Problemf(400, "stop: %d", 3), 400, "stop: 3\n", false},
		{fmt.Errorf("reading: %w", web.Problemf(409, "taken")), 409, "taken\n", false},
		{fmt.Errorf("user: %w", errNoUser), 404, "no such user\n", false},
		{errors.New("store is down"), 500, "store is down\n", true},
		{&http.MaxBytesError{Limit: 5}, 413, "body: more than 5 bytes\n", false},
	} {
		site, log := newSite()
		answer := ask(site.Handle(func(http.ResponseWriter, *http.Request) error { return c.err }), httptest.NewRequest("GET", "/x", nil))
		if answer.Code != c.status || answer.Body.String() != c.text {
			t.Errorf("%v: %d %q", c.err, answer.Code, answer.Body)
		}
		if logged := strings.Contains(log.String(), "request failed"); logged != c.logged {
			t.Errorf("%v: logged %q", c.err, log)
		}
	}
}

func TestAPanicIsAnsweredAndLogged(t *testing.T) {
	site, log := newSite()
	answer := ask(site.Handle(func(http.ResponseWriter, *http.Request) error { panic("lost") }), httptest.NewRequest("GET", "/x", nil))
	if answer.Code != 500 || answer.Body.String() != "internal error\n" || !strings.Contains(log.String(), "lost") {
		t.Errorf("%d %q, logged %q", answer.Code, answer.Body, log)
	}
}

func TestOthersMayCallAnOpenAPI(t *testing.T) {
	open := web.OpenToAll(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "yes") }))
	answer := ask(open, httptest.NewRequest("OPTIONS", "/api/x", nil))
	if answer.Code != 204 || answer.Header().Get("Access-Control-Allow-Origin") != "*" || answer.Body.Len() != 0 {
		t.Errorf("OPTIONS: %d %v %q", answer.Code, answer.Header(), answer.Body)
	}
	answer = ask(open, httptest.NewRequest("GET", "/api/x", nil))
	if answer.Code != 200 || answer.Header().Get("Access-Control-Allow-Origin") != "*" || answer.Body.String() != "yes" {
		t.Errorf("GET: %d %v %q", answer.Code, answer.Header(), answer.Body)
	}
}

func TestAnAssetIsSentOnce(t *testing.T) {
	asset := web.Asset("text/css", []byte("a{}"))
	first := ask(asset, httptest.NewRequest("GET", "/a.css", nil))
	again := httptest.NewRequest("GET", "/a.css", nil)
	again.Header.Set("If-None-Match", first.Header().Get("ETag"))
	if second := ask(asset, again); first.Body.String() != "a{}" || second.Code != 304 || second.Body.Len() != 0 {
		t.Errorf("first %q, then %d %q", first.Body, second.Code, second.Body)
	}
}
