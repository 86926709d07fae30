package load

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/result"
)

// One test for each defect known of load generators (docs: methods, load generation), and for what servers do
// to connections. They assert counts, orders and identities, never speed.

// A timer that is overdue at the start must not cost a silent first second: everything is due at once here.
func TestNoHoleAtTheStart(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	summary, dir := drive(t, s.plan(t, map[string]any{"arrival": rate("constant", 50_000), "duration_s": 0.02, "drain_s": 60}))
	if summary.Counts.Completed != 1000 {
		t.Errorf("%+v", summary.Counts)
	}
	file, err := os.Open(filepath.Join(dir, "latency.hlog"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	first, err := hdr.NewHistogramLogReader(file).NextIntervalHistogram()
	if err != nil || first == nil || first.Tag() != result.WholeTag || first.TotalCount() == 0 {
		t.Errorf("the first interval is empty: %v %v", first, err)
	}
}

// A rate below the number of threads must not flood: the schedule is divided, not the rate rounded up.
func TestFewerRequestsThanThreads(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	summary, _ := drive(t, s.plan(t, map[string]any{"threads": 8, "arrival": rate("constant", 2), "duration_s": 1.9}))
	if summary.Planned != 4 || summary.Counts.Completed != 4 || len(s.seen()) != 4 {
		t.Errorf("planned %d, completed %d, seen %d", summary.Planned, summary.Counts.Completed, len(s.seen()))
	}
}

// Connections that have nothing to do are no timeouts, though they wait longer than the timeout.
func TestIdleConnectionsAreNoTimeouts(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	summary, _ := drive(t, s.plan(t, map[string]any{"connections": 60, "arrival": rate("constant", 4), "duration_s": 4, "timeout_s": 1.5}))
	if summary.Counts.Timeouts != 0 || summary.Counts.Offered != 16 {
		t.Errorf("%+v", summary.Counts)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.conns) != 61 { // the first is the probe
		t.Errorf("%d connections were made, want 61", len(s.conns))
	}
}

// What is due and cannot be sent is counted and has a latency: an overloaded tail must not look half as long.
func TestUnsentBacklogIsReported(t *testing.T) {
	t.Parallel()
	s := serve(t, silent)
	summary, _ := drive(t, s.plan(t, map[string]any{"connections": 3, "arrival": rate("constant", 200), "duration_s": 0.5,
		"timeout_s": 30, "drain_s": 0.3, "slo": map[string]any{"percentile": 99, "latency_ms": 100}}))
	c := summary.Counts
	if c.Offered != 100 || c.Sent != 3 || c.InFlight != 3 || c.Unsent != 97 || *summary.Violations != 100 {
		t.Errorf("%+v, violations %d", c, *summary.Violations)
	}
	if p50 := summary.LatencyMs["intended"].P50; p50 < 30_000 {
		t.Errorf("unanswered requests have a p50 of %g ms, less than the timeout", p50)
	}
	if last := summary.Batches[9]; last.Backlog != 100 || last.Completed != 0 {
		t.Errorf("last batch: %+v", last)
	}
}

// An answer in the drain counts as completed, but not as throughput of the window.
func TestThroughputExcludesTheDrain(t *testing.T) {
	t.Parallel()
	var once sync.Once
	release := make(chan struct{})
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		once.Do(func() { time.AfterFunc(1500*time.Millisecond, func() { close(release) }) })
		<-release
		return ok(conn, path, n)
	})
	summary, _ := drive(t, s.plan(t, map[string]any{"arrival": rate("constant", 50), "duration_s": 0.5, "drain_s": 60}))
	if summary.Counts.Completed != 25 || summary.CompletedInWindow != 0 || summary.Throughput != 0 {
		t.Errorf("completed %d, in the window %d, throughput %g", summary.Counts.Completed, summary.CompletedInWindow, summary.Throughput)
	}
	if summary.Batches[9].Backlog != 25 {
		t.Errorf("backlog %d", summary.Batches[9].Backlog)
	}
	// Coordinated omission: with 8 connections only the first 8 requests wait at the server for all of the stall,
	// but every one of them waited at least a second from its intended time.
	if p50 := summary.LatencyMs["intended"].P50; p50 < 900 {
		t.Errorf("p50 from the intended time is %g ms", p50)
	}
}

// A run without a single answer has numbers in its summary, and no NaN (JSON has none: reading it back failed).
func TestNoAnswersAtAll(t *testing.T) {
	t.Parallel()
	s := serve(t, raw("", false))
	summary, _ := drive(t, s.plan(t, map[string]any{"arrival": rate("constant", 100)}))
	if c := summary.Counts; c.Errors != 50 || summary.LatencyMs["service"].Count != 0 || summary.LatencyMs["intended"].P50 < 20_000 {
		t.Errorf("%+v %+v", c, summary.LatencyMs)
	}
	for _, e := range summary.Errors {
		if !strings.Contains(e.Kind, "connection") {
			t.Errorf("%+v", e)
		}
	}
}

// A request that times out loses its connection, and a new one carries the next.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	s := serve(t, func(conn net.Conn, path string, n int) bool { return n%5 == 0 || ok(conn, path, n) })
	summary, _ := drive(t, s.plan(t, map[string]any{"connections": 50, "arrival": rate("constant", 50), "duration_s": 1,
		"timeout_s": 1, "drain_s": 30}))
	c := summary.Counts
	if c.Timeouts != 10 || c.Completed+c.Late != 40 || c.Errors != 0 {
		t.Errorf("%+v", c)
	}
	if slowest := summary.LatencyMs["intended"].Max; slowest < 1000 {
		t.Errorf("a timeout enters with %g ms", slowest)
	}
}

func TestLateAnswers(t *testing.T) {
	t.Parallel()
	// One connection, so the second request waits for the first: its answer is good, but later than the timeout.
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		time.Sleep(600 * time.Millisecond)
		return ok(conn, path, n)
	})
	summary, _ := drive(t, s.plan(t, map[string]any{"connections": 1, "arrival": rate("constant", 100), "duration_s": 0.1,
		"timeout_s": 2, "drain_s": 60, "abandon": false}))
	if c := summary.Counts; c.Completed+c.Late+c.Timeouts != 10 || c.Late+c.Timeouts < 7 || summary.LatencyMs["intended"].Max < 5000 {
		t.Errorf("%+v", c)
	}
}

// Whatever a server does at the end of an answer, each request has one outcome and the next one is sent.
func TestConnectionsThatEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(net.Conn, string, int) bool
		errors string // kind of all errors; none if empty
	}{
		"announced close":   {raw("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", false), ""},
		"HTTP/1.0":          {raw("HTTP/1.0 200 OK\r\n\r\nok", false), ""},
		"delimited by end":  {raw("HTTP/1.1 200 OK\r\n\r\nok", false), ""},
		"silent close":      {raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false), ""},
		"chunked":           {raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true), ""},
		"no content":        {raw("HTTP/1.1 204 No Content\r\n\r\n", true), ""},
		"redirect":          {raw("HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", true), ""},
		"cut short":         {raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", false), request.ErrCut.Error()},
		"not HTTP":          {raw("220 smtp ready\r\n", true), request.ErrNotHTTP.Error()},
		"closed at once":    {raw("", false), request.ErrNoAnswer.Error()},
		"status 404":        {raw("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope", true), "status 404"},
		"reset":             {reset, "connection reset by peer"},
		"answers twice":     {raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n", true), ""},
		"in small portions": {portions, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.answer)
			// Requests are far apart and connections many, so that none is used in the moment it is being closed.
			summary, _ := drive(t, s.plan(t, map[string]any{"connections": 30, "arrival": rate("constant", 50)}))
			counts := summary.Counts
			if c.errors == "" && counts.Completed != 25 || c.errors != "" && counts.Errors != 25 {
				t.Errorf("%s: %+v %+v", name, counts, summary.Errors)
			}
			for _, e := range summary.Errors {
				if e.Kind != c.errors {
					t.Errorf("%s: error %q", name, e.Kind)
				}
			}
			if name == "status 404" && summary.Errors[0].Example != "nope" {
				t.Errorf("example %q", summary.Errors[0].Example)
			}
			if seen := len(s.seen()); seen != 25 {
				t.Errorf("%s: the server saw %d requests", name, seen)
			}
		})
	}
}

func reset(conn net.Conn, _ string, _ int) bool {
	_ = conn.(*net.TCPConn).SetLinger(0)
	return false
}

func portions(conn net.Conn, _ string, _ int) bool {
	for _, b := range []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello") {
		if _, err := conn.Write([]byte{b}); err != nil {
			return false
		}
	}
	return true
}

// A request and an answer larger than any socket buffer get through whole.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	large := "HTTP/1.1 200 OK\r\nContent-Length: 3145728\r\n\r\n" + strings.Repeat("x", size)
	s := serve(t, raw(large, true))
	operations, _ := json.Marshal([]any{map[string]any{"name": "big", "method": http.MethodPost, "path": "/", "body": strings.Repeat("y", size)}})
	for _, wait := range []string{"precise", "tick"} {
		summary, _ := drive(t, s.plan(t, map[string]any{"arrival": rate("constant", 10), "duration_s": 1, "wait": wait,
			"drain_s": 60, "timeout_s": 100, "operations": json.RawMessage(operations)}))
		if summary.Counts.Completed != 10 {
			t.Errorf("%s: %+v %+v", wait, summary.Counts, summary.Errors)
		}
	}
}

// A server that goes away is the server's failure: each request tries to connect, and fails as an error.
func TestServerThatGoesAway(t *testing.T) {
	t.Parallel()
	var listening atomic.Pointer[server]
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		if n == 10 {
			_ = listening.Load().listener.Close()
		}
		return n < 10 && ok(conn, path, n)
	})
	listening.Store(s)
	summary, _ := drive(t, s.plan(t, map[string]any{"connections": 2, "arrival": rate("constant", 100)}))
	if c := summary.Counts; c.Completed != 10 || c.Errors != 40 || c.Unsent != 0 {
		t.Errorf("%+v %+v", c, summary.Errors)
	}
	refused := int64(0)
	for _, e := range summary.Errors {
		if e.Kind == "connect: connection refused" {
			refused += e.Count
		}
	}
	if refused < 30 {
		t.Errorf("%+v", summary.Errors)
	}
}
