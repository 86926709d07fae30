package load

import (
	"bufio"
	"net"
	"net/http"
	"testing"
	"time"

	"loadstone.dev/stone/load/transport"
)

func (s *server) connections() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return len(s.conns)
}

// Each request has a connection of its own, besides the probe's.
func TestNewConnectionForEachRequest(t *testing.T) {
	t.Parallel()
	for _, threads := range []int{1, 2} {
		s := serve(t, ok)
		summary, _ := drive(t, s.plan(t, map[string]any{"policy": "new", "threads": threads, "arrival": rate("constant", 200)}))
		if n := s.connections(); summary.Counts.Completed != 100 || n != 101 {
			t.Errorf("%d connections for %+v %+v", n, summary.Counts, summary.Errors)
		}
	}
}

// A server that closes every connection without an answer has few of them, whatever the rate and the protocol: between
// two of one slot lie rests of 10 to 500 ms. Only the policy `new` has one for each request.
func TestConnectionsThatComeToNothing(t *testing.T) {
	t.Parallel()
	plain, secure := serve(t, func(net.Conn, string, int) bool { return false }), serveTLS(t, hangUp)
	const connections = 2
	for name, c := range map[string]struct {
		plan  func(*testing.T, map[string]any) *Plan
		keys  map[string]any
		rests bool
	}{
		"sockets":             {plain.plan, map[string]any{}, true},
		"TLS":                 {secure.plan, map[string]any{}, true},
		"HTTP/2":              {secure.plan, map[string]any{"protocol": "http/2"}, true},
		"one for each":        {plain.plan, map[string]any{"policy": "new"}, false},
		"one for each by TLS": {secure.plan, map[string]any{"policy": "new"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.keys["connections"], c.keys["arrival"], c.keys["duration_s"] = connections, rate("constant", 200), 1
			c.keys["timeout_s"] = 1
			begun := time.Now()
			summary, _ := drive(t, c.plan(t, c.keys))
			most := 1 + connections*(7+int64(time.Since(begun)/transport.LongestRest)) // the probe's, and 7 until the rest is the longest
			if n := summary.Connections.Connects; n > most == c.rests || summary.Counts.Completed != 0 {
				t.Errorf("%d connects, limit %d: %+v", n, most, summary.Counts)
			}
		})
	}
}

// A growing pool opens connections when none has room, up to its most.
func TestGrowingPool(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		if n == 29 {
			close(release)
		}
		<-release // so 30 at a time are needed
		return ok(conn, path, n)
	})
	summary, _ := drive(t, s.plan(t, map[string]any{"policy": "growing", "connections": 2, "most_connections": 40,
		"arrival": rate("constant", 100), "duration_s": 0.5, "drain_s": 60}))
	if n := s.connections(); summary.Counts.Completed != 50 || n < 31 || n > 41 {
		t.Errorf("%d connections for %+v", n, summary.Counts)
	}
}

// Pipelined requests go out without waiting for answers, which belong to them in their order.
func TestPipelining(t *testing.T) {
	t.Parallel()
	const depth = 6
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answerInBatches(conn, depth)
		}
	}()
	s := &server{listener: listener}
	summary, _ := drive(t, s.plan(t, map[string]any{"connections": 1, "pipelining": depth, "arrival": rate("constant", 240),
		"duration_s": 0.5, "drain_s": 60}))
	if c := summary.Counts; c.Completed != 60 || c.Errors != 60 {
		t.Errorf("%+v %+v", c, summary.Errors)
	}
}

// answerInBatches reads that many requests before it answers them all: the odd ones with 200, the even ones with 500.
func answerInBatches(conn net.Conn, size int) {
	defer conn.Close()
	reader, n := bufio.NewReader(conn), 0
	for {
		answers := ""
		for range size {
			if _, err := http.ReadRequest(reader); err != nil {
				return
			}
			if n++; n%2 == 1 {
				answers += "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
			} else {
				answers += "HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nbad"
			}
		}
		if _, err := conn.Write([]byte(answers)); err != nil {
			return
		}
	}
}

// When one request on a pipelined connection times out, those behind it fail too, and the next ones go on.
func TestPipeliningThatTimesOut(t *testing.T) {
	t.Parallel()
	s := serve(t, func(conn net.Conn, path string, n int) bool { return n < 10 || ok(conn, path, n) })
	summary, _ := drive(t, s.plan(t, map[string]any{"connections": 1, "pipelining": 100, "arrival": rate("constant", 100),
		"duration_s": 1, "timeout_s": 0.4, "drain_s": 30}))
	c := summary.Counts
	if c.Timeouts < 1 || c.Timeouts+c.Errors < 10 || c.Offered != 100 {
		t.Errorf("%+v %+v", c, summary.Errors)
	}
	for _, e := range summary.Errors {
		if e.Kind != errCollateral.Error() {
			t.Errorf("%+v", e)
		}
	}
}
