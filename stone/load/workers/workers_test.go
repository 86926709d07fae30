package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loadstone.dev/stone/load"
	"loadstone.dev/stone/load/result"
)

// target is a server that records its requests. With `hold`, it answers when that is closed.
type target struct {
	*httptest.Server
	mutex sync.Mutex
	seen  []string
	first chan struct{} // closed at the first request
}

func serveTarget(t *testing.T, hold <-chan struct{}) *target {
	t.Helper()
	s := &target{first: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		if s.seen = append(s.seen, r.URL.Path); len(s.seen) == 1 {
			close(s.first)
		}
		s.mutex.Unlock()
		if hold != nil {
			<-hold
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// requests are those that it received, sorted.
func (s *target) requests() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	slices.Sort(s.seen)
	return slices.Clone(s.seen)
}

// text is a plan for the target; keys replace or add to it.
func (s *target) text(t *testing.T, keys map[string]any) []byte {
	t.Helper()
	all := map[string]any{
		"target": s.URL, "connections": 12, "duration_s": 1.2, "warmup_s": 0.2, "timeout_s": 30, "seed": 7,
		"arrival":    map[string]any{"process": "poisson", "rate": 300},
		"operations": json.RawMessage(`[{"name":"get","path":"/{n}","fields":{"n":{"kind":"sequence"}}}]`),
	}
	for key, value := range keys {
		all[key] = value
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// inProcess starts load workers in this process, and returns what ends them.
func inProcess(ctx context.Context) starter {
	return func(load.Member, string) (*link, *process, error) {
		toThem, fromUs := pipe()
		toUs, fromThem := pipe()
		go func() {
			defer fromThem.Close()
			_ = Serve(ctx, toThem, fromThem) // the coordinator learns why it failed
		}()
		return newLink(toUs, fromUs), nil, nil
	}
}

// crewOf are so many members.
func crewOf(count int) (members []load.Member) {
	for number := range count {
		members = append(members, load.Member{Name: fmt.Sprintf("client-%d", number+1)})
	}
	return members
}

// entries are the names in a folder.
func entries(folder string) (names []string) {
	found, _ := os.ReadDir(folder)
	for _, entry := range found {
		names = append(names, entry.Name())
	}
	return names
}

// Two and three workers send together exactly what one process sends alone, and their sums are the whole.
func TestWorkersTogetherAreOne(t *testing.T) {
	t.Parallel()
	alone := serveTarget(t, nil)
	plan, err := load.ParsePlan(alone.text(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	single, err := load.Run(context.Background(), plan, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := alone.requests()
	for _, count := range []int{2, 3} {
		s, out := serveTarget(t, nil), filepath.Join(t.TempDir(), "out")
		var watched bytes.Buffer
		ctx := context.Background()
		text := s.text(t, map[string]any{"record_requests": true})
		summary, err := run(ctx, text, crewOf(count), nil, out, &watched, inProcess(ctx))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.requests(); !slices.Equal(got, want) {
			t.Errorf("%d workers sent %d requests, one sends %d; they are not the same", count, len(got), len(want))
		}
		c := summary.Counts
		if c != single.Counts || summary.Planned != single.Planned || summary.LatencyMs["intended"].Count != c.Offered ||
			c.Offered != c.Completed+c.Late+c.Errors+c.Timeouts+c.Unsent+c.InFlight {
			t.Errorf("%d workers: %+v; one: %+v", count, c, single.Counts)
		}
		if c, one := summary.Connections, single.Connections; c.Requested != one.Requested || c.Made != c.Requested || c.Connects < int64(c.Requested) || len(c.Addresses) != 1 {
			t.Errorf("%d workers: %+v; one: %+v", count, c, one)
		}
		if len(summary.Generator.Workers) != count {
			t.Errorf("workers: %+v", summary.Generator.Workers)
		}
		sent, completed := int64(0), int64(0)
		for i, w := range summary.Generator.Workers { // the clocks are one
			sent, completed = sent+w.Sent, completed+w.Completed
			if *w.ReferenceBeforeMs <= 0 || *w.ReferenceAfterMs <= 0 || w.Connects < 1 || w.CPUS <= 0 || w.OwnLatenessP99 <= 0 {
				t.Errorf("worker %d: %+v", i, w)
			}
			if w.Name != fmt.Sprintf("client-%d", i+1) || w.Number != i || *w.ClockOffsetUs > *w.ClockErrorUs || -*w.ClockOffsetUs > *w.ClockErrorUs {
				t.Errorf("worker %d: %+v, offset %v within %v", i, w, *w.ClockOffsetUs, *w.ClockErrorUs)
			}
			if got := entries(filepath.Join(out, "workers", fmt.Sprint(i))); !slices.Equal(got, []string{"latency.hlog", "part.json", "requests.parquet"}) {
				t.Errorf("worker %d has left %v", i, got)
			}
		}
		if sent != c.Sent || completed != c.Completed {
			t.Errorf("the workers sent %d and completed %d; together %+v", sent, completed, c)
		}
		checkProgress(t, &watched, summary)
		if got := entries(out); !slices.Equal(got, []string{"latency.hgrm", "latency.hlog", "summary.json", "workers", "wrk2.txt"}) {
			t.Errorf("results %v", got)
		}
	}
}

// checkProgress verifies that the lines only grow, and end with everything, and that the window is marked when it is.
func checkProgress(t *testing.T, lines io.Reader, summary *result.Summary) {
	t.Helper()
	decoder, last, all := json.NewDecoder(lines), result.Progress{}, int64(0)
	var marks []load.WindowMark
	for decoder.More() {
		var line struct {
			result.Progress
			load.WindowMark
		}
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		p := line.Progress
		if line.Window != "" {
			marks = append(marks, line.WindowMark)
			continue
		}
		if p.Sent < last.Sent || p.T < last.T || p.Latency != nil || p.Sent > 0 && p.P50 == nil && p.Sent > last.Sent {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
	}
	started, err := time.Parse(time.RFC3339Nano, summary.Started)
	if err != nil {
		t.Fatal(err)
	}
	begins := started.Add(200 * time.Millisecond) // the warm-up
	for i, edge := range []string{"begin", "end"} {
		at := begins.Add(time.Duration(i) * 1200 * time.Millisecond).UnixNano()
		if i < len(marks) && (marks[i].Window != edge || marks[i].UnixNs < at-int64(time.Millisecond)) {
			t.Errorf("mark %d is %+v, the window's is %d", i, marks[i], at)
		}
	}
	if len(marks) == 0 || len(marks) > 2 { // a run may be over just before its window is
		t.Errorf("marks %+v", marks)
	}
	for _, o := range summary.Operations {
		all += o.All.Sent
	}
	if last.Sent != all || last.Completed != all {
		t.Errorf("the last line is %+v; %d were sent", last, all)
	}
}

// A line is printed when all workers have one: their first together, then their second. One that has ended adds what it
// had counted.
func TestProgressOfAll(t *testing.T) {
	t.Parallel()
	var watched bytes.Buffer
	a, b := &member{}, &member{}
	c := &crew{members: []*member{a, b}, watch: &watched}
	line := func(sent int64) *result.Progress { return &result.Progress{Sent: sent} }
	for _, step := range []struct {
		m       *member
		line    *result.Progress
		printed []int64
	}{
		{a, line(1), nil}, {a, line(2), nil}, {b, line(10), []int64{11}}, {b, line(20), []int64{22}}, {b, line(30), nil},
		{a, nil, []int64{32}}, {b, line(40), []int64{42}}, {b, nil, nil},
	} {
		c.progressed(step.m, step.line)
		var printed []int64
		for decoder := json.NewDecoder(&watched); decoder.More(); {
			var p result.Progress
			if err := decoder.Decode(&p); err != nil {
				t.Fatal(err)
			}
			printed = append(printed, p.Sent)
		}
		if watched.Reset(); !slices.Equal(printed, step.printed) {
			t.Errorf("%+v: printed %v, want %v", step.line, printed, step.printed)
		}
	}
}

// Files that a plan names are the worker's own copies, and its mistakes name them as the plan does.
func TestFilesGoAlong(t *testing.T) {
	t.Parallel()
	s, folder := serveTarget(t, nil), t.TempDir()
	values, script := filepath.Join(folder, "values"), filepath.Join(folder, "x.lua")
	many := strings.Repeat("abcdefghij\n", 3*piece/11) // several pieces
	for path, content := range map[string]string{
		values: many, script: "function init() error('stop') end",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fields := `[{"name":"get","path":"/{w}","fields":{"w":{"kind":"file","path":"` + values + `"}}}]`
	ctx := context.Background()
	text := s.text(t, map[string]any{"operations": json.RawMessage(fields)})
	if _, err := run(ctx, text, crewOf(2), nil, filepath.Join(folder, "out"), nil, inProcess(ctx)); err != nil {
		t.Fatal(err)
	}
	if seen := s.requests(); len(seen) < 300 || seen[0] != "/abcdefghij" {
		t.Errorf("%d requests, the first for %s", len(seen), seen[0])
	}
	var failing map[string]json.RawMessage
	if err := json.Unmarshal(text, &failing); err != nil {
		t.Fatal(err)
	}
	delete(failing, "operations")
	failing["script"] = json.RawMessage(`{"path":"` + script + `"}`)
	text, _ = json.Marshal(failing)
	if _, err := run(ctx, text, crewOf(2), nil, filepath.Join(folder, "none"), nil, inProcess(ctx)); err == nil || !strings.Contains(err.Error(), script+":1") {
		t.Errorf("%v", err)
	}
}
