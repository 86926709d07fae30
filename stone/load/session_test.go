package load

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"loadstone.dev/stone/load/result"
)

const visit = `[{"name":"visit","weight":1,"steps":[
	{"name":"login","method":"POST","path":"/login/{user}","fields":{"user":{"kind":"integer","min":0,"max":99}},
	 "extract":{"token":"json:access.token","id":"header:X-Id"}},
	{"name":"read","path":"/read/{token}/{id}/{page}","fields":{"page":{"kind":"integer","min":0,"max":9}},"think":{"min_s":0.01,"max_s":0.02}},
	{"name":"leave","path":"/leave/{token}"}]},
	{"name":"look","weight":3,"path":"/look"}]`

// tokens answers a login with a token and an id of its own, and everything else with "ok".
type tokens struct {
	mutex sync.Mutex
	given int
	used  map[string]int
}

func (s *tokens) answer(conn net.Conn, path string, n int) bool {
	parts := strings.Split(path, "/")
	s.mutex.Lock()
	if parts[1] == "login" {
		s.given++
		body := fmt.Sprintf(`{"access":{"token":"t%d"}}`, s.given)
		text := fmt.Sprintf("HTTP/1.1 200 OK\r\nx-id: i%d\r\nContent-Length: %d\r\n\r\n%s", s.given, len(body), body)
		s.mutex.Unlock()
		_, err := conn.Write([]byte(text))
		return err == nil
	}
	s.used[path]++
	s.mutex.Unlock()
	return ok(conn, path, n)
}

// Each step uses what the answers before it left, and every step of every arrival of the window is accounted for.
func TestSessions(t *testing.T) {
	t.Parallel()
	backend := &tokens{used: map[string]int{}}
	s := serve(t, backend.answer)
	summary, _ := drive(t, s.plan(t, map[string]any{"arrival": rate("constant", 300), "duration_s": 1, "threads": 2,
		"connections": 40, "drain_s": 60, "operations": json.RawMessage(visit)}))
	counts := map[string]result.Counts{}
	for _, o := range summary.Operations {
		counts[o.Name] = o.Counts
	}
	sessions := counts["visit.login"].Completed
	// A quarter of the arrivals are three requests, so 300 requests/s are 200 arrivals/s.
	arrivals := sessions + counts["look"].Completed
	if arrivals != 200 || sessions < 30 || sessions > 75 || summary.Counts.Completed != summary.Counts.Offered {
		t.Errorf("%d sessions of %d arrivals: %+v", sessions, arrivals, summary.Counts)
	}
	if counts["visit.read"].Completed != sessions || counts["visit.leave"].Completed != sessions {
		t.Errorf("steps: %+v", counts)
	}
	if backend.given != int(sessions) {
		t.Errorf("%d tokens were given to %d sessions", backend.given, sessions)
	}
	for path, times := range backend.used {
		parts := strings.Split(path, "/")
		if parts[1] == "read" && (parts[2][1:] != parts[3][1:] || times != 1) || parts[1] == "leave" && times != 1 {
			t.Errorf("%s was requested %d times", path, times)
		}
	}
	// The pause is not part of any latency.
	if p50 := summary.LatencyMs["intended"].P50; p50 <= 0 {
		t.Errorf("p50 %g", p50)
	}
}

// The steps after a failed one are errors that were never sent.
func TestSessionThatFails(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"an earlier step failed: status 500":                                     "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
		"an earlier step failed: the answer lacks a value that later steps need": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
	} {
		s := serve(t, raw(answer, true))
		summary, _ := drive(t, s.plan(t, map[string]any{"arrival": rate("constant", 60), "duration_s": 1,
			"slo": map[string]any{"percentile": 99, "latency_ms": 20000}, "operations": json.RawMessage(strings.Split(visit, ",\n\t{\"name\":\"look\"")[0] + "]")}))
		c := summary.Counts
		if c.Offered != 60 || c.Sent != 20 || c.Errors != 60 || c.Skipped != 40 || *summary.Violations != 60 {
			t.Errorf("%+v, violations %d", c, *summary.Violations)
		}
		skipped := int64(0)
		for _, e := range summary.Errors {
			if e.Kind == name {
				skipped += e.Count
			}
		}
		if skipped != 40 {
			t.Errorf("%q: %+v", name, summary.Errors)
		}
	}
}

// An answer that never comes leaves the later steps unsent.
func TestSessionThatHangs(t *testing.T) {
	t.Parallel()
	s := serve(t, silent)
	summary, _ := drive(t, s.plan(t, map[string]any{"arrival": rate("constant", 30), "duration_s": 1, "timeout_s": 100, "drain_s": 0,
		"connections": 4, "operations": json.RawMessage(strings.Split(visit, ",\n\t{\"name\":\"look\"")[0] + "]")}))
	if c := summary.Counts; c.Offered != 30 || c.InFlight != 4 || c.Unsent != 26 || c.Errors != 0 {
		t.Errorf("%+v", c)
	}
}

// A value that is not what the plan expects is an error of its own kind.
func TestAnswersAreJudged(t *testing.T) {
	t.Parallel()
	s := serve(t, raw("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"a\":{\"b\":[2]}}", true))
	summary, _ := drive(t, s.plan(t, map[string]any{"arrival": rate("constant", 100), "operations": json.RawMessage(`[
		{"name":"good","path":"/","expect":{"json":{"path":"a.b.0","equals":2},"min_bytes":15,"max_bytes":15}},
		{"name":"other","path":"/","expect":{"json":{"path":"a.b.0","equals":3}}},
		{"name":"created","path":"/","expect":{"status":[201]}},
		{"name":"large","path":"/","expect":{"min_bytes":16}}]`)}))
	for _, o := range summary.Operations {
		if good := o.Counts.Completed == o.Counts.Offered; good != (o.Name == "good") || o.Counts.Completed+o.Counts.Errors != o.Counts.Offered {
			t.Errorf("%s: %+v", o.Name, o.Counts)
		}
	}
	for _, e := range summary.Errors {
		body := "" // kept where it is looked into
		if e.Operation == "other" {
			body = `{"a":{"b":[2]}}`
		}
		if !strings.HasPrefix(e.Kind, "expected ") || e.Example != body {
			t.Errorf("%+v", e)
		}
	}
}
