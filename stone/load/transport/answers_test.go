package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// What holds for requests and answers whatever they travel over.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			site := serve(t, k, echo)
			caller := site.dial(t)
			for name, c := range map[string]struct {
				request []byte
				status  int
				body    string
			}{
				"get":        {get("/a%2Fb?q=1&r=%20x"), 200, "GET /a%2Fb?q=1&r=%20x example.test 0 [] []"},
				"post":       {render("POST", "/p", "hello", "X-Token: a b", "X-Token: c"), 200, "POST /p example.test 5 [a b c] []hello"},
				"user agent": {render("GET", "/u", "", "User-Agent: mine"), 200, "GET /u example.test 0 [] [mine]"},
				"head":       {render("HEAD", "/h", ""), 200, ""},
				"no content": {get("/204"), 204, ""},
				"error":      {get("/500"), 500, "sorry"},
				"redirect":   {get("/302"), 302, ""},
				"large":      {render("PUT", "/l", strings.Repeat("x", 1<<20-100)), 200, "PUT /l example.test 1048476 [] []" + strings.Repeat("x", 1<<20-100)},
			} {
				answer := ask(t, caller, c.request)
				if answer.Status != c.status || string(answer.Body) != c.body || answer.Size != int64(len(c.body)) {
					t.Errorf("%s: status %d, %d bytes %.80q", name, answer.Status, answer.Size, answer.Body)
				}
				if !strings.Contains(string(answer.Header), "X-Sort: first\r\nX-Sort: second\r\n") {
					t.Errorf("%s: header %q", name, answer.Header)
				}
			}
			if n := site.accepted(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// echo answers with the request; it refuses what a load generator must not add by itself.
func echo(w http.ResponseWriter, r *http.Request) {
	w.Header()["X-Sort"] = []string{"first", "second"}
	for _, added := range []string{"Accept-Encoding", "Accept", "Connection", "Referer"} {
		if r.Header.Get(added) != "" {
			http.Error(w, "there was a header "+added, http.StatusBadRequest)
			return
		}
	}
	switch r.URL.Path {
	case "/204":
		w.WriteHeader(http.StatusNoContent)
	case "/302":
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
	case "/500":
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, "sorry")
	default:
		body, _ := io.ReadAll(r.Body) // all of it first: net/http closes HTTP/1.1 connections else
		fmt.Fprintf(w, "%s %s %s %d %v %v%s", r.Method, r.RequestURI, r.Host, len(body), r.Header["X-Token"], r.Header["User-Agent"], body)
	}
}

// The requested part of a body is kept; all of it is counted.
func TestBodiesAreCountedAndKeptInPart(t *testing.T) {
	t.Parallel()
	piece := make([]byte, 1<<16)
	huge := func(w http.ResponseWriter, r *http.Request) {
		for range 1 << 9 { // 32 MiB
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
	for _, k := range kinds {
		for _, limit := range []int64{0, 10} {
			t.Run(fmt.Sprint(k.name, " ", limit), func(t *testing.T) {
				t.Parallel()
				site := serve(t, k, huge)
				site.settings.Limit = limit
				answer := ask(t, site.dial(t), get("/"))
				if answer.Size != 1<<25 || int64(len(answer.Body)) != limit || (limit == 0) != (len(answer.Header) == 0) {
					t.Errorf("%d bytes, kept %d, header %q", answer.Size, len(answer.Body), answer.Header)
				}
			})
		}
	}
}

func TestNewPerRequest(t *testing.T) {
	t.Parallel()
	for _, k := range kinds[:2] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			resumed := 0
			site := serve(t, k, func(w http.ResponseWriter, r *http.Request) {
				if r.TLS != nil && r.TLS.DidResume {
					resumed++
				}
			})
			site.settings.NewPerRequest = true
			d := dialer(t, site.settings)
			for range 3 {
				caller, err := d.Dial(t.Context(), site.address())
				if err != nil {
					t.Fatal(err)
				}
				ask(t, caller, get("/"))
				ask(t, caller, get("/"))
				_ = caller.Close()
			}
			if n := site.accepted(); n != 7 || resumed != 0 { // one was made by the first Dial, to see whether it can be
				t.Errorf("%d connections, %d resumed sessions", n, resumed)
			}
		})
	}
}

// A deadline ends a call that gets no answer; the next call finds a connection.
func TestDeadline(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for _, alone := range []bool{false, true}[:cases(k)] {
			t.Run(fmt.Sprint(k.name, " ", alone), func(t *testing.T) {
				t.Parallel()
				site := serve(t, k, func(w http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case "/never":
						<-r.Context().Done()
					case "/half":
						_, _ = io.WriteString(w, "half")
						_ = http.NewResponseController(w).Flush()
						<-r.Context().Done()
					case "/endless":
						for piece := make([]byte, 1<<16); r.Context().Err() == nil; {
							if _, err := w.Write(piece); err != nil {
								return
							}
						}
					}
				})
				site.settings.NewPerRequest = alone
				caller := site.dial(t)
				for _, path := range []string{"/never", "/half", "/endless"} {
					_, err := within(t, caller, 1e8, get(path))
					expect(t, err, Timeout)
					ask(t, caller, get("/"))
				}
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				_, err := caller.Call(ended, get("/never"))
				expect(t, err, Cancelled)
			})
		}
	}
}

// Close ends calls under way.
func TestClose(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		for _, alone := range []bool{false, true}[:cases(k)] {
			t.Run(fmt.Sprint(k.name, " ", alone), func(t *testing.T) {
				t.Parallel()
				arrived := make(chan struct{})
				site := serve(t, k, func(w http.ResponseWriter, r *http.Request) {
					close(arrived)
					<-r.Context().Done()
				})
				site.settings.NewPerRequest = alone
				caller := site.dial(t)
				failed := make(chan error)
				go func() {
					_, err := caller.Call(context.Background(), get("/"))
					failed <- err
				}()
				<-arrived
				_ = caller.Close()
				if kind := KindOf(<-failed); kind != Closed && kind != Cancelled && kind != Timeout {
					t.Errorf("%q", kind)
				}
			})
		}
	}
}

func TestNoListener(t *testing.T) {
	t.Parallel()
	for _, k := range append(slices.Clone(kinds), kind{"grpc", GRPC, "http"}, kind{"grpc over TLS", GRPC, "https"}) {
		gone := listen(t)
		gone.stop()
		_, err := dialer(t, Settings{Protocol: k.protocol, Target: k.scheme + "://" + gone.address(), Timeout: patience}).Dial(t.Context(), gone.address())
		expect(t, err, "connect: connection refused")
		if err == nil || !strings.Contains(err.Error(), gone.address()) {
			t.Errorf("%s: %v: not a word about %s", k.name, err, gone.address())
		}
	}
}

// A server that goes away takes the connection with it; each call says so, and once it is back calls go well.
func TestServerThatGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			site := serve(t, k, echo)
			caller := site.dial(t)
			ask(t, caller, get("/"))
			site.hangUp()
			notice(caller)
			ask(t, caller, get("/")) // a new connection
			site.stop()
			notice(caller)
			for range 2 {
				_, err := within(t, caller, patience, get("/"))
				expect(t, err, "connect: connection refused")
			}
			if n := site.accepted(); n != 2 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// notice waits until net/http knows that its connection is gone: a call before that would go out in vain.
func notice(caller Caller) {
	c, multiplexed := caller.(*http2)
	for multiplexed && c.live.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// cases is 2 if the kind can have a connection for each call too.
func cases(k kind) int {
	if k.protocol == HTTP1 {
		return 2
	}
	return 1
}
