package load

import (
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"loadstone.dev/stone/load/request"
)

// until writes pieces until the other side has had enough of it.
func until(conn net.Conn, first, piece string, pause time.Duration) bool {
	_, err := conn.Write([]byte(first))
	for err == nil {
		if pause > 0 {
			time.Sleep(pause)
		}
		_, err = conn.Write([]byte(piece))
	}
	return false
}

// Servers that do everything wrong end as counted errors within the timeout, and the next request goes out.
func TestServersThatMisbehave(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Length: "
	for name, c := range map[string]struct {
		answer    func(net.Conn, string, int) bool
		kind      string // kind of the errors; empty: timeouts
		completed bool
	}{
		"reset":                {reset, "connection reset by peer", false},
		"half a head":          {raw("HTTP/1.1 200 OK\r\nContent-Le", false), request.ErrCut.Error(), false},
		"half a body":          {raw(head+"10\r\n\r\nhello", false), request.ErrCut.Error(), false},
		"half a chunk":         {raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhel", false), request.ErrCut.Error(), false},
		"longer than it says":  {raw(head+"2\r\n\r\nhello", true), "", true}, // what it says is there; the rest costs the connection
		"shorter than it says": {raw(head+"10\r\n\r\nhello", true), "", false},
		"two lengths":          {raw(head+"2\r\nContent-Length: 3\r\n\r\nok", true), request.ErrLength.Error(), false},
		"a negative length":    {raw(head+"-1\r\n\r\nok", true), request.ErrLength.Error(), false},
		"a length beyond all":  {raw(head+"99999999999999999999\r\n\r\nok", true), request.ErrLength.Error(), false},
		"slow headers": {func(c net.Conn, _ string, _ int) bool {
			return until(c, "HTTP/1.1 200 OK\r\n", "X: y\r\n", time.Millisecond)
		}, "", false},
		"endless headers": {func(c net.Conn, _ string, _ int) bool {
			return until(c, "HTTP/1.1 200 OK\r\n", strings.Repeat("X: y\r\n", 1000), 0)
		}, request.ErrHeadTooLong.Error(), false},
		"an endless header": {func(c net.Conn, _ string, _ int) bool {
			return until(c, "HTTP/1.1 200 OK\r\nX: ", strings.Repeat("y", 10000), 0)
		}, request.ErrHeadTooLong.Error(), false},
		"never answers": {silent, "", false},
		"only interim answers": {func(c net.Conn, _ string, _ int) bool {
			return until(c, "", "HTTP/1.1 100 Continue\r\n\r\n", time.Millisecond)
		}, "", false},
		"a chunk size of garbage": {raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", true), request.ErrChunk.Error(), false},
		"binary":                  {raw("\x16\x03\x01\x02\x00\n", true), request.ErrNotHTTP.Error(), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.answer)
			keys := map[string]any{"connections": 30, "arrival": rate("constant", 20), "timeout_s": 20, "drain_s": 60}
			if c.kind == "" && !c.completed {
				keys["timeout_s"] = 0.5
			}
			summary, _ := drive(t, s.plan(t, keys))
			counts := summary.Counts
			switch {
			case c.completed && counts.Completed != 10,
				!c.completed && c.kind == "" && counts.Timeouts != 10,
				c.kind != "" && counts.Errors != 10:
				t.Errorf("%+v %+v", counts, summary.Errors)
			}
			for _, e := range summary.Errors {
				if e.Kind != c.kind {
					t.Errorf("%+v, want %q", e, c.kind)
				}
			}
		})
	}
}

// A body of a gigabyte is read, counted and forgotten.
func TestHugeBodyIsNotKept(t *testing.T) {
	const size = 1 << 30
	piece := make([]byte, 1<<20)
	s := serve(t, func(conn net.Conn, _ string, _ int) bool {
		_, err := conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n"))
		for sent := 0; sent < size && err == nil; sent += len(piece) {
			_, err = conn.Write(piece)
		}
		return err == nil
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	summary, _ := drive(t, s.plan(t, map[string]any{"connections": 1, "arrival": rate("constant", 2), "timeout_s": 300, "drain_s": 300}))
	runtime.ReadMemStats(&after)
	if c := summary.Counts; c.Completed != 1 {
		t.Errorf("%+v %+v", c, summary.Errors)
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
		t.Errorf("the heap has grown by %d MB", grown>>20)
	}
}
