package load

import (
	"bufio"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/request"
)

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
			"operations": []any{map[string]any{"name": "post", "method": "POST", "path": "/", "body": strings.Repeat("x", 32<<20)}}}))
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

// A long answer is read in turns: one that comes faster than it is read holds up neither other requests nor timeouts.
func TestLongAnswersAreReadInTurns(t *testing.T) {
	t.Parallel()
	const size = 100_000
	s := step(t, serve(t, raw("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("x", size), true)).plan(t, map[string]any{"connections": 1}))
	s.receiver = newReceiver(100)
	c := s.send()
	for waiting := 0; waiting < size/5; { // until as much is there
		var err error
		if waiting, err = unix.IoctlGetInt(c.fd, unix.TIOCINQ); err != nil {
			t.Fatal(err)
		}
	}
	s.receive(c, false)
	if most := int64(turnReads * 100); c.response.Size > most || len(c.under) == 0 {
		t.Errorf("%d bytes in one turn", c.response.Size)
	}
	s.settle()
	if good, kinds := s.outcomes(); good != 1 {
		t.Errorf("%d good, %v", good, kinds)
	}
}
