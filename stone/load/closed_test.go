package load

import (
	"encoding/json"
	"net"
	"sync"
	"testing"

	"loadstone.dev/stone/load/result"
)

// concurrency remembers the most requests that were under way at a time; the first `hold` wait for each other.
type concurrency struct {
	mutex     sync.Mutex
	now, most int
	hold      int
	full      chan struct{}
	fill      sync.Once // so many can be there again later
}

func (c *concurrency) answer(conn net.Conn, path string, n int) bool {
	c.mutex.Lock()
	c.now++
	c.most = max(c.most, c.now)
	if c.now == c.hold {
		c.fill.Do(func() { close(c.full) })
	}
	c.mutex.Unlock()
	<-c.full
	c.mutex.Lock()
	c.now--
	c.mutex.Unlock()
	return ok(conn, path, n)
}

// A closed loop has as many requests under way as clients, never more, whatever the connections.
func TestClosedLoop(t *testing.T) {
	t.Parallel()
	for _, threads := range []int{1, 2} {
		gate := &concurrency{hold: 5, full: make(chan struct{})}
		s := serve(t, gate.answer)
		plan := s.closed(t, map[string]any{"threads": threads, "connections": 9, "duration_s": 0.6, "closed": map[string]any{"clients": 5}})
		summary, _ := drive(t, plan)
		c := summary.Counts
		if gate.most != 5 || summary.Loop != "closed" || summary.Planned != 0 || c.Completed < 5 || c.Unsent != 0 {
			t.Errorf("%d at a time, loop %s: %+v", gate.most, summary.Loop, c)
		}
	}
}

// closed is plan without arrivals.
func (s *server) closed(t *testing.T, keys map[string]any) *Plan {
	t.Helper()
	keys["arrival"] = nil
	return s.plan(t, keys)
}

// Clients pause between an answer and their next request: in a second, each of 4 with 0.2 s sends at most 6.
func TestClosedLoopThinks(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	summary, _ := drive(t, s.closed(t, map[string]any{"duration_s": 1, "closed": map[string]any{"clients": 4, "think_s": 0.2}}))
	if c := summary.Counts; c.Completed < 4 || c.Completed > 24 {
		t.Errorf("%+v", c)
	}
}

// Clients go through their sessions step by step.
func TestClosedLoopOfSessions(t *testing.T) {
	t.Parallel()
	backend := &tokens{used: map[string]int{}}
	s := serve(t, backend.answer)
	summary, _ := drive(t, s.closed(t, map[string]any{"duration_s": 1.5, "closed": map[string]any{"clients": 3},
		"drain_s": 30, "operations": json.RawMessage(visit)}))
	counts := map[string]result.Counts{}
	for _, o := range summary.Operations {
		counts[o.Name] = o.Counts
	}
	if login, leave := counts["visit.login"], counts["visit.leave"]; login.Completed < 1 || leave.Completed > login.Completed ||
		counts["look"].Completed < 1 || summary.Counts.Errors != 0 {
		t.Errorf("%+v", counts)
	}
}

// A dead server is not flooded: clients that fail wait a little.
func TestClosedLoopAgainstADeadServer(t *testing.T) {
	t.Parallel()
	s := serve(t, func(net.Conn, string, int) bool { return false })
	summary, _ := drive(t, s.closed(t, map[string]any{"duration_s": 0.5, "closed": map[string]any{"clients": 2}}))
	if c := summary.Counts; c.Errors < 2 || c.Errors > 102 || c.Completed != 0 {
		t.Errorf("%+v", c)
	}
}
