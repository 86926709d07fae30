package load

import (
	"bufio"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/request"
)

// What a connection is after an answer (RFC 9112, 9.3 and 9.6): used again, or a new one takes the next request. Surplus
// bytes are no answer to what is sent after them.
func TestConnectionsAfterAnswers(t *testing.T) {
	t.Parallel()
	const good, length = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", "HTTP/1.1 200 OK\r\nContent-Length: "
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	for name, c := range map[string]struct {
		text, method string
		ends         bool // the server closes it after the answer
		kept         bool
		surplus      bool   // bytes follow, with the answer
		kind         string // kind of the error; empty: answered well
	}{
		"length":                    {text: good + "\r\nok", kept: true},
		"interim answers":           {text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + good + "\r\nok", kept: true},
		"to HEAD":                   {text: length + "99\r\n\r\n", method: "HEAD", kept: true},
		"to HEAD, in chunks":        {text: chunked + "\r\n", method: "HEAD", kept: true},
		"to HEAD, with a body":      {text: good + "\r\nok", method: "HEAD", surplus: true},
		"204 with a length":         {text: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", kept: true},
		"304 without a length":      {text: "HTTP/1.1 304 Not Modified\r\n\r\n", kept: true},
		"announced close":           {text: good + "Connection: close\r\n\r\nok"},
		"close without a length":    {text: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok", ends: true},
		"HTTP/1.0":                  {text: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"},
		"HTTP/1.0, without length":  {text: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nok", ends: true},
		"HTTP/1.0, kept":            {text: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", kept: true},
		"chunks":                    {text: chunked + "Trailer: X\r\n\r\n1;a=\"b\"\r\no\r\n00A\r\n0123456789\r\n0;z\r\nX: y\r\n\r\n", kept: true},
		"chunks in capitals":        {text: "HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: Chunked\r\n\r\na\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", kept: true},
		"chunks and a length":       {text: chunked + "Content-Length: 9\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		"HTTP/1.0 in chunks":        {text: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		"a chunk beyond all":        {text: chunked + "\r\n7fffffffffffffff\r\nok", kind: request.ErrChunk.Error()},
		"two answers":               {text: good + "\r\nok" + good + "\r\nok", surplus: true},
		"no reason, folded headers": {text: "HTTP/1.1 200\r\nX: a\r\n\tb\r\nContent-Length:2\r\n\r\nok", kept: true},
		"a head of 60 KB":           {text: good + "X: " + strings.Repeat("y", 60<<10) + "\r\n\r\nok", kept: true},
		"500":                       {text: "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", kept: true, kind: "status 500"},
	} {
		for _, piece := range []int{1, 7, len(c.text)} {
			if piece < len(c.text) && (c.surplus || len(c.text) > 1000) {
				continue
			}
			s := serve(t, func(conn net.Conn, _ string, _ int) bool {
				for text := c.text; text != ""; {
					n, _ := conn.Write([]byte(text[:min(piece, len(text))]))
					if text = text[n:]; n == 0 {
						return false
					}
				}
				return !c.ends
			})
			method := c.method
			if method == "" {
				method = "GET"
			}
			thread := step(t, s.plan(t, map[string]any{"connections": 1,
				"operations": []any{map[string]any{"name": "home", "method": method, "path": "/"}}}))
			first := thread.send()
			thread.settle()
			kept := first.state == open
			if first.state != open && len(thread.pool.resting) == 0 {
				thread.send()
				thread.settle()
			}
			answered, kinds := thread.outcomes()
			if want := c.kind == ""; kept != c.kept || (answered > 0) != want || (kinds[c.kind] > 0) == want || len(kinds) > 1 {
				t.Errorf("%s in pieces of %d: kept %v, %d good, %v", name, piece, kept, answered, kinds)
			}
		}
	}
}

// An answer that ends with its connection is whole: the next request opens the connection again, without a rest.
func TestAnswersThatEndWithTheirConnection(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"HTTP/1.0 200 OK\r\n\r\nok", "HTTP/1.1 200 OK\r\n\r\nok", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok",
	} {
		s := step(t, serve(t, raw(text, false)).plan(t, map[string]any{"connections": 1}))
		for n := range int64(3) {
			c := s.send()
			s.settle()
			if good, kinds := s.outcomes(); good != n+1 || len(kinds) > 0 || len(s.pool.resting) > 0 || c.rest > 0 {
				t.Fatalf("%q: %d good, %v, %d connections rest", text, good, kinds, len(s.pool.resting))
			}
		}
	}
}

// The answer to a request that the server does not want whole is taken, though the connection takes no more of it.
func TestAnswerBeforeTheRequestIsWhole(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{true, false} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan struct{})
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = conn.Write([]byte("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"))
					if !ends {
						<-over
					}
				}
				_ = conn.Close() // with bytes unread: a reset
			}
		}()
		s := step(t, (&server{listener: listener}).plan(t, map[string]any{"connections": 1,
			"operations": []any{map[string]any{"name": "post", "method": "POST", "path": "/", "body": strings.Repeat("x", 16<<20)}}}))
		c := s.send()
		if len(c.pending) == 0 {
			t.Fatal("the request went out whole")
		}
		if ends {
			s.await(c, unix.POLLIN|unix.POLLHUP)
		}
		s.settle()
		if _, kinds := s.outcomes(); !reflect.DeepEqual(kinds, map[string]int64{"status 413": 1}) || c.state == open {
			t.Errorf("ends %v: %v", ends, kinds)
		}
		close(over)
		_ = listener.Close()
	}
}

// Who cannot send on a pipelined connection still has the answers that came before it ended.
func TestAnswersBeforeAReset(t *testing.T) {
	t.Parallel()
	server := serve(t, func(conn net.Conn, path string, n int) bool { return ok(conn, path, n) && reset(conn, path, n) })
	s := step(t, server.plan(t, map[string]any{"connections": 1, "pipelining": 2}))
	c := s.send()
	s.await(c, unix.POLLIN|unix.POLLHUP)
	s.send()
	s.settle()
	if good, kinds := s.outcomes(); good != 1 || !reflect.DeepEqual(kinds, map[string]int64{request.ErrNoAnswer.Error(): 1}) {
		t.Errorf("%d good, %v", good, kinds)
	}
}

// A request of which nothing could be sent, since the connection was reset after its last answer, goes over a new one.
func TestResetBetweenRequests(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := serve(t, func(conn net.Conn, path string, n int) bool {
		good := ok(conn, path, n)
		if n > 0 {
			return good
		}
		<-release
		return reset(conn, path, n)
	})
	s := step(t, server.plan(t, map[string]any{"connections": 1}))
	c := s.send()
	s.settle()
	close(release)
	s.await(c, unix.POLLHUP)
	s.send()
	s.settle()
	if good, kinds := s.outcomes(); good != 2 || len(kinds) > 0 || len(server.seen()) != 2 || s.pool.tally.attempts != 2 {
		t.Errorf("%d good, %v, %d seen, %d connects", good, kinds, len(server.seen()), s.pool.tally.attempts)
	}
}

// An answer that comes faster than it is read, for ever, is read in turns: it holds up neither other requests nor its own
// timeout.
func TestAnswersAreReadInTurns(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 1<<16)} {
		text := []byte(strings.Repeat(piece, 100))
		s := step(t, serve(t, func(conn net.Conn, _ string, _ int) bool {
			for {
				if _, err := conn.Write(text); err != nil {
					return false
				}
			}
		}).plan(t, map[string]any{"connections": 1}))
		s.receiver = newReceiver(10)
		c := s.send()
		for range 3 { // edge-triggered: each turn finds the next event
			turn := make(chan struct{})
			go func() {
				defer close(turn)
				for begun := s.recorder.bytes; s.recorder.bytes-begun < turnBytes; {
					for _, event := range s.pool.poller.wait(1e9) {
						s.handle(s.pool.event(event), event.Events)
					}
				}
			}()
			select {
			case <-turn:
			case <-time.After(time.Minute):
				t.Fatal("the turn has no end")
			}
		}
		if len(c.under) != 1 || c.state != open {
			t.Errorf("%d under way", len(c.under))
		}
	}
}

// All of an answer that has arrived is read in one turn, however long it is.
func TestWhatHasArrivedIsRead(t *testing.T) {
	t.Parallel()
	text := "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + strings.Repeat("x", 20_000)
	s := step(t, serve(t, raw(text, true)).plan(t, map[string]any{"connections": 1}))
	s.receiver = newReceiver(10)
	c := s.send()
	for waiting(c.fd) < len(text) {
		time.Sleep(time.Millisecond)
	}
	s.receive(c, false)
	if good, kinds := s.outcomes(); good != 1 {
		t.Errorf("%d good, %v", good, kinds)
	}
}
