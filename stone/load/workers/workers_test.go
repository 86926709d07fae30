package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"loadstone.dev/stone/load"
)

// target is a server that remembers what it was asked for. With `hold`, it answers when that is closed.
type target struct {
	*httptest.Server
	mutex sync.Mutex
	seen  []string
	first chan struct{} // closed when it is asked for the first time
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

// requests are what it was asked for, sorted.
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

// journal hands on what a worker logs, line by line.
type journal chan string

func (j journal) Write(line []byte) (int, error) {
	j <- string(line)
	return len(line), nil
}

// hire starts a worker, which logs into the journal.
func hire(t *testing.T, secret string) (address string, log journal, stop func()) {
	t.Helper()
	listener, err := Listen("127.0.0.1:0", secret)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	log = make(journal, 16)
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, listener, secret, log) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return listener.Addr().String(), log, stop
}

func hireAll(t *testing.T, count int, secret string) (addresses []string) {
	t.Helper()
	for range count {
		address, _, _ := hire(t, secret)
		addresses = append(addresses, address)
	}
	return addresses
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
		addresses := hireAll(t, count, "a secret")
		summary, err := Run(context.Background(), s.text(t, map[string]any{"record_requests": true}), addresses, "a secret", out, &watched)
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
		if c, one := summary.Connections, single.Connections; c.Asked != one.Asked || c.Made != c.Asked || c.Connects < int64(c.Asked) || len(c.Addresses) != 1 {
			t.Errorf("%d workers: %+v; one: %+v", count, c, one)
		}
		if len(summary.Generator.Workers) != count {
			t.Errorf("workers: %+v", summary.Generator.Workers)
		}
		for i, w := range summary.Generator.Workers { // the clocks are one
			if w.Address != addresses[i] || w.Number != i || *w.ClockOffsetUs > *w.ClockErrorUs || -*w.ClockOffsetUs > *w.ClockErrorUs {
				t.Errorf("worker %d: %+v, offset %v within %v", i, w, *w.ClockOffsetUs, *w.ClockErrorUs)
			}
			if got := entries(filepath.Join(out, "workers", fmt.Sprint(i))); !slices.Equal(got, []string{"latency.hlog", "part.json", "requests.parquet"}) {
				t.Errorf("worker %d has left %v", i, got)
			}
		}
		checkProgress(t, &watched, summary)
		if got := entries(out); !slices.Equal(got, []string{"latency.hgrm", "latency.hlog", "summary.json", "workers", "wrk2.txt"}) {
			t.Errorf("results %v", got)
		}
	}
}

// checkProgress verifies that the lines only grow, and end with everything.
func checkProgress(t *testing.T, lines io.Reader, summary *load.Summary) {
	t.Helper()
	decoder, last, all := json.NewDecoder(lines), load.Progress{}, int64(0)
	for decoder.More() {
		var p load.Progress
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.Sent < last.Sent || p.T < last.T || p.Latency != nil || p.Sent > 0 && p.P50 == nil && p.Sent > last.Sent {
			t.Errorf("%+v after %+v", p, last)
		}
		last = p
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
	line := func(sent int64) *load.Progress { return &load.Progress{Sent: sent} }
	for _, step := range []struct {
		m       *member
		line    *load.Progress
		printed []int64
	}{
		{a, line(1), nil}, {a, line(2), nil}, {b, line(10), []int64{11}}, {b, line(20), []int64{22}}, {b, line(30), nil},
		{a, nil, []int64{32}}, {b, line(40), []int64{42}}, {b, nil, nil},
	} {
		c.progressed(step.m, step.line)
		var printed []int64
		for decoder := json.NewDecoder(&watched); decoder.More(); {
			var p load.Progress
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

func init() { handover = 0 } // tests do not wait for it

// A run can follow another on the same workers; two at a time cannot.
func TestAWorkerServesOneRunAtATime(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	held, quick := serveTarget(t, hold), serveTarget(t, nil)
	addresses := hireAll(t, 1, "")
	first := make(chan error, 1)
	go func() {
		_, err := Run(context.Background(), held.text(t, nil), addresses, "", t.TempDir(), nil)
		first <- err
	}()
	<-held.first
	_, err := Run(context.Background(), quick.text(t, nil), addresses, "", t.TempDir(), nil)
	if err == nil || !strings.Contains(err.Error(), "worker "+addresses[0]+": busy with the run of another coordinator") {
		t.Errorf("the second run: %v", err)
	}
	close(hold)
	if err := <-first; err != nil {
		t.Errorf("the first run: %v", err)
	}
	for { // the worker is free when it has taken leave of the first
		if _, err = Run(context.Background(), quick.text(t, nil), addresses, "", t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "busy") {
			break
		}
	}
	if err != nil {
		t.Errorf("the third run: %v", err)
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	s := serveTarget(t, nil)
	for _, c := range []struct{ workers, coordinators string }{{"right", "wrong"}, {"right", ""}, {"", "right"}} {
		address, log, _ := hire(t, c.workers)
		_, err := Run(context.Background(), s.text(t, nil), []string{address}, c.coordinators, t.TempDir(), nil)
		if err == nil || err.Error() != "worker "+address+": not available: the secrets differ; give worker and coordinator the same LOADSTONE_TOKEN" {
			t.Errorf("%q against %q: %v", c.workers, c.coordinators, err)
		}
		if line := <-log; !strings.Contains(line, "the secrets differ") || strings.Contains(line, "right") || strings.Contains(line, "wrong") {
			t.Errorf("the worker logged %q", line)
		}
	}
	if len(s.requests()) > 0 {
		t.Error("there was load")
	}
	if _, err := Listen("0.0.0.0:0", ""); err == nil || !strings.Contains(err.Error(), "set LOADSTONE_TOKEN to a secret") {
		t.Errorf("listening for everybody without a secret: %v", err)
	}
	for address, secret := range map[string]string{"0.0.0.0:0": "x", ":0": "", "127.0.0.1:0": ""} {
		listener, err := Listen(address, secret)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if at := listener.Addr().(*net.TCPAddr); at.IP.IsLoopback() == (secret != "") {
			t.Errorf("%s is %s", address, at)
		}
		_ = listener.Close()
	}
}

// A coordinator does not take just anybody for a worker.
func TestAFalseWorkerIsNoticed(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	go func() {
		l := newLink(theirs)
		_ = l.send(message{Kind: hello, Version: version, Nonce: once()})
		m, _ := l.receive(0)
		_ = l.send(message{Kind: welcome, Proof: prove("a guess", "worker", once(), m.Nonce)})
	}()
	if err := introduce(newLink(ours), "a secret"); !errors.Is(err, errSecret) {
		t.Errorf("%v", err)
	}
}
