package load

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
)

func TestEveryRequestIsSentAndAnswered(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"precise", "tick", "spin", "auto"} {
		for _, threads := range []int{1, 3} {
			s := serve(t, ok)
			summary, _ := drive(t, s.plan(t, map[string]any{"wait": wait, "threads": threads, "warmup_s": 0.25,
				"slo": map[string]any{"percentile": 99, "latency_ms": 20000}}))
			c := summary.Counts
			if c.Completed != summary.Planned || *summary.Violations != 0 || len(summary.Errors) != 0 {
				t.Errorf("%s, %d threads: %+v", wait, threads, c)
			}
			if seen := int64(len(s.seen())); seen <= c.Sent { // the warm-up's come on top
				t.Errorf("%s: the server saw %d requests, %d are counted", wait, seen, c.Sent)
			}
			if g := summary.Generator; g.Wait == "auto" || g.CPUS <= 0 || g.CPUUsPerRequest <= 0 || g.Threads != threads {
				t.Errorf("generator: %+v", g)
			}
		}
	}
}

const numbered = `[{"name":"a","weight":2,"path":"/a/{n}","fields":{"n":{"kind":"integer","min":0,"max":1000000}}},
	{"name":"b","weight":1,"path":"/b/{n}","method":"POST","body":"{n}","fields":{"n":{"kind":"integer","min":0,"max":1000000}}}]`

// The same seed gives the same requests, whatever the number of threads; another seed gives others.
func TestSeedDecidesTheRequests(t *testing.T) {
	t.Parallel()
	requests := func(seed, threads, connections int) string {
		s := serve(t, ok)
		summary, _ := drive(t, s.plan(t, map[string]any{"seed": seed, "threads": threads, "connections": connections,
			"operations": json.RawMessage(numbered)}))
		a, b := summary.Operations[0].Counts, summary.Operations[1].Counts
		if a.Completed+b.Completed != summary.Planned || a.Completed <= b.Completed || b.Completed == 0 {
			t.Errorf("operations: %+v %+v", a, b)
		}
		seen := s.seen()
		if connections > 1 { // over several connections they arrive in any order
			sort.Strings(seen)
		}
		return strings.Join(seen, " ")
	}
	if first, again := requests(1, 1, 1), requests(1, 1, 1); first != again {
		t.Error("the same seed gives another sequence")
	}
	one, three, other := requests(1, 1, 6), requests(1, 3, 6), requests(2, 1, 6)
	if one != three {
		t.Error("three threads send other requests than one")
	}
	if one == other {
		t.Error("another seed gives the same requests")
	}
}

func TestProgressAndWarmup(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	var lines strings.Builder
	_, err := Run(context.Background(), s.plan(t, map[string]any{"warmup_s": 1, "duration_s": 1.5}), t.TempDir(), &lines)
	if err != nil {
		t.Fatal(err)
	}
	var phases []string
	var marks []WindowMark
	last := int64(0)
	for line := range strings.Lines(lines.String()) {
		var p struct {
			WindowMark
			T, Of                            float64
			Phase                            string
			Offered, Sent, Completed, Errors int64
			P50                              *float64 `json:"p50_ms"`
		}
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if p.Window != "" {
			marks = append(marks, p.WindowMark)
			continue
		}
		if p.Of != 2.5 || p.Sent < last || p.Sent > p.Offered || p.Phase != "drain" && p.P50 == nil {
			t.Errorf("after %d sent: %s", last, line)
		}
		last = p.Sent
		if len(phases) == 0 || phases[len(phases)-1] != p.Phase {
			phases = append(phases, p.Phase)
		}
	}
	if have := strings.Join(phases, " "); !strings.HasPrefix(have, "warmup measure") {
		t.Errorf("phases %q in\n%s", have, lines.String())
	}
	// A run may be over just before its window is.
	if len(marks) == 0 || marks[0].Window != "begin" || len(marks) == 2 && marks[1].UnixNs-marks[0].UnixNs < 1e9 {
		t.Errorf("the window's marks are %+v", marks)
	}
}

// With several replicas, connections are spread over all of them; each must be there at the start.
func TestReplicas(t *testing.T) {
	t.Parallel()
	servers := []*server{serve(t, ok), serve(t, ok), serve(t, ok)}
	replicas := []string{servers[1].listener.Addr().String(), servers[2].listener.Addr().String()}
	plan := servers[0].plan(t, map[string]any{"replicas": replicas, "connections": 6})
	summary, _ := drive(t, plan)
	seen := 0
	for i, s := range servers {
		if n := len(s.seen()); n < int(summary.Planned)/6 {
			t.Errorf("replica %d got %d of %d requests", i, n, summary.Planned)
		} else {
			seen += n
		}
	}
	if seen != int(summary.Counts.Completed) {
		t.Errorf("%d completed, %d seen", summary.Counts.Completed, seen)
	}
	servers[2].stop()
	if _, err := Run(context.Background(), plan, t.TempDir(), nil); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), replicas[1]) {
		t.Errorf("got %v", err)
	}
}

func TestUnreachableTarget(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	plan := s.plan(t, nil)
	s.stop()
	dir := t.TempDir()
	if _, err := Run(context.Background(), plan, dir, nil); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	expectEmpty(t, dir)
}

func TestInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		if n == 20 {
			cancel()
		}
		return ok(conn, path, n)
	})
	dir := t.TempDir()
	_, err := Run(ctx, s.plan(t, map[string]any{"duration_s": 3000}), dir, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	expectEmpty(t, dir)
}

// What is enough ends the run early, and its results are of what was sent until then.
func TestEndedEarlyWithResults(t *testing.T) {
	t.Parallel()
	enough := make(chan os.Signal, 1)
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		if n == 20 {
			enough <- os.Interrupt
		}
		return ok(conn, path, n)
	})
	plan := s.plan(t, map[string]any{"duration_s": 3000, "record_requests": true, "arrival": rate("constant", 100)})
	plan.Enough = enough
	summary, dir := drive(t, plan)
	c := summary.Counts
	settled := c.Completed+c.InFlight == c.Sent // answers to the last ones may not have come yet
	if summary.Aborted == nil || summary.Aborted.Reason != "a signal ended it" || c.Sent < 20 || !settled || c.Offered > 2000 {
		t.Errorf("%+v, %+v", summary.Aborted, c)
	}
	if _, err := os.Stat(filepath.Join(dir, "requests.parquet")); err != nil {
		t.Error(err)
	}
}

func expectEmpty(t *testing.T, dir string) {
	t.Helper()
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}

func TestAbortWhenTheSLOCannotHold(t *testing.T) {
	t.Parallel()
	slo := map[string]any{"percentile": 90, "latency_ms": 50}
	for name, answer := range map[string]func(net.Conn, string, int) bool{
		"errors": raw("HTTP/1.1 500 E\r\nContent-Length: 3\r\n\r\nbad", true),
		"silent": silent, // no answer ever: overdue requests count, long before their timeout
	} {
		s := serve(t, answer)
		summary, dir := drive(t, s.plan(t, map[string]any{"duration_s": 30, "timeout_s": 3000, "slo": slo, "abort": true,
			"arrival": rate("constant", 100)}))
		if summary.Aborted == nil || !strings.Contains(summary.Aborted.Reason, "of 3000 planned exceed 10 %") {
			t.Fatalf("%s: %+v", name, summary.Aborted)
		}
		// 300 violations are allowed: it takes 301 requests, that is 3 s, and not all 3000.
		c := summary.Counts
		if *summary.Violations <= 300 || c.Offered <= 300 || c.Offered >= 3000 || summary.Aborted.AtS < 3 {
			t.Errorf("%s: %d violations of %d offered at %g s", name, *summary.Violations, c.Offered, summary.Aborted.AtS)
		}
		// Rates are of the time that it ran, and no text shows what was on its way as slow.
		if wanted := float64(c.Offered) / summary.Aborted.AtS; math.Abs(*summary.OfferedRate-wanted) > 1e-9 || summary.Throughput != 0 {
			t.Errorf("%s: offered %g/s instead of %g, %g/s completed", name, *summary.OfferedRate, wanted, summary.Throughput)
		}
		for _, file := range []string{"wrk2.txt", "latency.hgrm"} {
			if _, err := os.Stat(filepath.Join(dir, file)); !os.IsNotExist(err) {
				t.Errorf("%s: %s: %v", name, file, err)
			}
		}
	}
}

func TestNoAbortWhileTheSLOHolds(t *testing.T) {
	t.Parallel()
	// Every 20th request fails: 5 %, and 10 % may.
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		if n%20 == 7 {
			return raw("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", true)(conn, path, n)
		}
		return ok(conn, path, n)
	})
	summary, _ := drive(t, s.plan(t, map[string]any{"slo": map[string]any{"percentile": 90, "latency_ms": 20000}, "abort": true,
		"arrival": rate("constant", 400)}))
	if summary.Aborted != nil || summary.Counts.Errors != 10 || *summary.Violations != 10 {
		t.Errorf("%+v %+v", summary.Aborted, summary.Counts)
	}
	if e := summary.Errors[0]; e.Kind != "status 503" || e.Operation != "home" || e.Count != 10 {
		t.Errorf("%+v", e)
	}
}

func TestKernelWithoutPreciseTimeout(t *testing.T) {
	p, err := newPoller(1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	p.millis = true
	for range 100 { // the runtime's signals may end a wait early, but not every one
		begin := time.Now()
		if events := p.wait(3_900_000); len(events) != 0 {
			t.Fatalf("%d events", len(events))
		}
		if time.Since(begin) >= 3*time.Millisecond {
			return
		}
	}
	t.Error("it does not wait for the whole milliseconds")
}
