package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Whatever ends an answer, the next call gets its own, over the same connection or a new one.
func TestEndsOfAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text        string
		keep        bool
		connections int // for two calls
		body        string
	}{
		"keep-alive":          {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true, 1, "ok"},
		"announced close":     {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", true, 2, "ok"},
		"silent close":        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false, 2, "ok"},
		"HTTP/1.0":            {"HTTP/1.0 200 OK\r\n\r\nok", false, 2, "ok"},
		"delimited by end":    {"HTTP/1.1 200 OK\r\n\r\nok", false, 2, "ok"},
		"chunked":             {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1;x=y\r\nk\r\n0\r\nT: v\r\n\r\n", true, 1, "ok"},
		"interim answers":     {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true, 1, "ok"},
		"no content":          {"HTTP/1.1 204 No Content\r\n\r\n", true, 1, ""},
		"not modified":        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", true, 1, ""},
		"more than requested": {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", true, 2, "ok"},
		"length is too low":   {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\noksorry", true, 2, "ok"},
		"line ends are bare":  {"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", true, 1, "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := raw(t, c.text, c.keep)
			caller := dial(t, plainly(HTTP1, server), server.address())
			for range 2 {
				if answer := ask(t, caller, get("/")); string(answer.Body) != c.body || answer.Size != int64(len(c.body)) {
					t.Errorf("body %q", answer.Body)
				}
				if !c.keep {
					awaitClose(caller)
				}
			}
			if n := server.accepted(); n != c.connections {
				t.Errorf("%d connections, want %d", n, c.connections)
			}
		})
	}
}

// awaitClose waits until the other side's close is there, if the connection was kept.
func awaitClose(caller Caller) {
	if l := caller.(*http1).line; l != nil {
		_, _ = l.reader.Peek(1)
	}
}

// What servers do wrong ends as an error of a known kind, and the next call has a new connection.
func TestServersThatMisbehave(t *testing.T) {
	t.Parallel()
	endless := "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 100)
	for name, c := range map[string]struct {
		text string
		keep bool
		want Error
	}{
		"closed at once":       {"", false, noAnswer},
		"not HTTP":             {"220 smtp ready\r\n", true, malformed},
		"half a head":          {"HTTP/1.1 200 OK\r\nContent-Le", false, cut},
		"half a body":          {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", false, cut},
		"half a chunk":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok", false, cut},
		"bad chunk":            {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n", true, badBody},
		"two lengths":          {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", true, malformed},
		"length is no number":  {"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok", true, malformed},
		"header has no colon":  {"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", true, malformed},
		"head without end":     {endless, true, longHead},
		"protocol switched":    {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", true, upgrade},
		"only interim answers": {strings.Repeat("HTTP/1.1 100 Continue\r\nX: "+strings.Repeat("y", 100)+"\r\n\r\n", 600), true, longHead},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := raw(t, c.text, c.keep)
			caller := dial(t, plainly(HTTP1, server), server.address())
			for n := range 2 {
				answer, err := within(t, caller, patience, get("/"))
				expect(t, err, c.want)
				if server.accepted() != n+1 || answer.Detail == "" {
					t.Errorf("%d connections after call %d, %q", server.accepted(), n, answer.Detail)
				}
			}
		})
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	server := listen(t).each(func(conn net.Conn) {
		if drain(bufio.NewReader(conn)) {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
	})
	caller := dial(t, plainly(HTTP1, server), server.address())
	for range 3 {
		_, err := within(t, caller, patience, get("/"))
		expect(t, err, "connection reset by peer")
	}
}

// A connection that was closed while idle costs no request: each is seen once, and answered.
func TestClosedWhileIdle(t *testing.T) {
	t.Parallel()
	for _, k := range kinds[:2] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int64
			site := serve(t, k, func(http.ResponseWriter, *http.Request) { seen.Add(1) })
			caller := site.dial(t)
			for n := range int64(20) {
				ask(t, caller, get("/"))
				site.hangUp()
				if seen.Load() != n+1 || site.accepted() != int(n+1) {
					t.Fatalf("%d requests and %d connections after %d calls", seen.Load(), site.accepted(), n+1)
				}
			}
		})
	}
}

// A request that may have been sent is not sent again.
func TestNothingIsRepeated(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int64
			site := serve(t, k, func(http.ResponseWriter, *http.Request) {
				seen.Add(1)
				panic(http.ErrAbortHandler)
			})
			caller := site.dial(t)
			for _, request := range [][]byte{get("/"), render("POST", "/", "x"), render("PUT", "/", "", "Idempotency-Key: 1")} {
				if answer, err := within(t, caller, patience, request); err == nil {
					t.Errorf("%d %q", answer.Status, answer.Body)
				}
			}
			if seen.Load() != 3 {
				t.Errorf("the server saw %d requests", seen.Load())
			}
		})
	}
}

// Calls on one connection wait for each other; each gets its own answer.
func TestOneAfterAnother(t *testing.T) {
	t.Parallel()
	var busy, most atomic.Int64
	site := serve(t, kinds[0], func(w http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), busy.Add(1)))
		fmt.Fprint(w, r.URL.Path)
		busy.Add(-1)
	})
	caller := site.dial(t)
	failures := make(chan error)
	for i := range 50 {
		go func() {
			path := fmt.Sprint("/", i)
			answer, err := within(t, caller, patience, get(path))
			if err == nil && string(answer.Body) != path {
				err = fmt.Errorf("%s got %s", path, answer.Body)
			}
			failures <- err
		}()
	}
	for range 50 {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	if most.Load() != 1 || site.accepted() != 1 {
		t.Errorf("%d at a time, %d connections", most.Load(), site.accepted())
	}
}

// An answer that comes before the request is whole is taken, and the connection given up.
func TestAnswerBeforeTheRequestIsWhole(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	server := listen(t).each(func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
			<-over
		}
	})
	t.Cleanup(func() { close(over) })
	settings := plainly(HTTP1, server)
	settings.Timeout = time.Hour // nor does the kernel end the connection
	caller := dial(t, settings, server.address())
	large := render("POST", "/", strings.Repeat("x", 32<<20))
	for n := range 2 {
		answer, err := caller.Call(context.Background(), large) // no deadline ends it
		if err != nil || answer.Status != 413 || server.accepted() != n+1 {
			t.Errorf("status %d, %v, %d connections", answer.Status, err, server.accepted())
		}
	}
}

// Bytes that come slowly are an answer as long as the deadline lasts, and a timeout after that.
func TestSlowBytes(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := listen(t).each(func(conn net.Conn) {
		reader := bufio.NewReader(conn)
		for drain(reader) {
			for _, b := range []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
				if b == ':' {
					<-release
				}
			}
		}
	})
	caller := dial(t, plainly(HTTP1, server), server.address())
	_, err := within(t, caller, 50*time.Millisecond, get("/"))
	expect(t, err, Timeout)
	close(release)
	ask(t, caller, get("/"))
}
