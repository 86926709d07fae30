package workers

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"loadstone.dev/stone/load"
	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/result"
)

// pretend starts load workers that behave as they like once they have a plan. They end with the link.
func pretend(t *testing.T, behave func(l *link, id result.Identity)) starter {
	t.Helper()
	folder := t.TempDir()
	return func(load.Member, string) (*link, *process, error) {
		ours, theirs := pair()
		go func() {
			defer theirs.close()
			_ = theirs.send(message{Kind: hello, Version: version})
			w := &worker{link: theirs, folder: folder, copies: map[string]string{}}
			given, _, err := w.prepare(context.Background())
			if err != nil {
				return
			}
			if id, err := given.Identity(); err == nil {
				behave(theirs, id)
			}
		}()
		return ours, nil, nil
	}
}

// mixed starts the first member by one starter and the others by another.
func mixed(first, others starter) starter {
	return func(m load.Member, stderr string) (*link, *process, error) {
		if m.Name == "client-1" {
			return first(m, stderr)
		}
		return others(m, stderr)
	}
}

// await reads until the link ends.
func await(l *link) {
	for {
		if _, err := l.receive(time.Minute); err != nil {
			return
		}
	}
}

// refused runs a plan that must fail with so many members, and returns why. No result may be left.
func refused(t *testing.T, ctx context.Context, text []byte, count int, begin starter) error {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	_, err := run(ctx, text, crewOf(count), nil, out, nil, begin)
	if err == nil {
		t.Fatal("the run did not fail")
	}
	if left := entries(out); len(left) > 0 {
		t.Errorf("%v: there is %v", err, left)
	}
	return err
}

func says(t *testing.T, err error, want string) {
	t.Helper()
	if !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
}

// A worker that is gone in the middle ends the run for all, and nothing passes for a result.
func TestALostWorker(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	s := serveTarget(t, hold)
	ctx := context.Background()
	lost := pretend(t, func(l *link, id result.Identity) {
		_ = l.send(message{Kind: ready, Identity: &id, Planned: 5})
		<-s.first // request of the others
	})
	says(t, refused(t, ctx, s.text(t, nil), 2, mixed(lost, inProcess(ctx))), "worker client-1: lost: it closed the connection")
}

// Ctrl-C stops all workers, which leave no folder.
func TestInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	hold := make(chan struct{})
	defer close(hold)
	s := serveTarget(t, hold)
	ctx, interrupt := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	begin := func(load.Member, string) (*link, *process, error) {
		toThem, fromUs := pipe()
		toUs, fromThem := pipe()
		ended.Go(func() {
			if err := Serve(context.Background(), toThem, fromThem); err == nil || !strings.Contains(err.Error(), "the coordinator is lost") {
				t.Errorf("a worker ended with %v", err)
			}
		})
		return newLink(toUs, fromUs), nil, nil
	}
	go func() { <-s.first; interrupt() }()
	if err := refused(t, ctx, s.text(t, nil), 2, begin); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	ended.Wait()
	for _, name := range entries(os.Getenv("TMPDIR")) {
		if strings.HasPrefix(name, "stone-load-") {
			t.Errorf("%s is left", name)
		}
	}
}

// A worker that is stopped reports it before it goes.
func TestAStoppedWorker(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	s := serveTarget(t, hold)
	ctx, stop := context.WithCancel(context.Background())
	go func() { <-s.first; stop() }()
	says(t, refused(t, context.Background(), s.text(t, nil), 1, inProcess(ctx)), "worker client-1: the worker was stopped")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := serveTarget(t, nil)
	ctx := context.Background()
	var mistake *mistake.Error
	for _, c := range []struct {
		text []byte
		says string
	}{
		{s.text(t, map[string]any{"warmup": 1}), "warmup: no such key"},
		{s.text(t, map[string]any{"connections": 3, "threads": 2}), "connections: 3 is less than threads (4)"},
		{s.text(t, map[string]any{"cpus": []int{1000}}), "cpus: cannot run on CPU 1000"},
	} {
		err := refused(t, ctx, c.text, 2, inProcess(ctx))
		says(t, err, c.says)
		if !errors.As(err, &mistake) {
			t.Errorf("%v is not a mistake of the plan", err)
		}
	}
	gone := httptest.NewServer(nil)
	text := s.text(t, map[string]any{"target": gone.URL})
	gone.Close()
	err := refused(t, ctx, text, 2, inProcess(ctx))
	if !errors.Is(err, load.ErrUnreachable) || strings.Count(err.Error(), load.ErrUnreachable.Error()) != 1 {
		t.Errorf("%v", err)
	}
}

// A command that does not start a load worker is named with how it ended and what it wrote.
func TestCommandsThatAreNoWorkers(t *testing.T) {
	t.Parallel()
	s := serveTarget(t, nil)
	for command, want := range map[string]string{
		"echo 'no route to host' >&2; exit 255":           "worker client-1: not available: its command ended: exit status 255: no route to host",
		"exit 0":                                          "worker client-1: not available: its command ended: exit status 0",
		"echo Welcome; sleep 600":                         "worker client-1: not available: not a message of a stone",
		`echo '{"kind":"hello","version":99}'; sleep 600`: "it speaks version 99 of the protocol",
	} {
		start := func(m load.Member, stderr string) (*link, *process, error) {
			m.Command = []string{"sh", "-c", command}
			return startCommand(m, stderr)
		}
		err := refused(t, context.Background(), s.text(t, nil), 1, start)
		says(t, err, want)
		if !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v", err)
		}
	}
	nowhere := []load.Member{{Name: "a", Command: []string{"/no/such/program"}}}
	_, err := Run(context.Background(), s.text(t, nil), nowhere, nil, t.TempDir(), nil)
	if !errors.Is(err, ErrUnavailable) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// What a worker is about to do must be what the coordinator wants.
func TestDisagreement(t *testing.T) {
	t.Parallel()
	s := serveTarget(t, nil)
	words := filepath.Join(t.TempDir(), "words")
	if err := os.WriteFile(words, []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := s.text(t, map[string]any{"operations": json.RawMessage(
		`[{"name":"get","path":"/{w}","fields":{"w":{"kind":"file","path":"` + words + `"}}}]`)})
	for want, change := range map[string]func(*result.Identity){
		"their plans differ in seed": func(id *result.Identity) {
			id.Plan = json.RawMessage(strings.Replace(string(id.Plan), `"seed":7`, `"seed":8`, 1))
		},
		words + " is not the same file for both; copy it": func(id *result.Identity) { id.Files[words] = "0" },
		"their schedules differ":                          func(id *result.Identity) { id.Arrivals.Count-- },
	} {
		begin := pretend(t, func(l *link, id result.Identity) {
			change(&id)
			_ = l.send(message{Kind: ready, Identity: &id})
			await(l)
		})
		says(t, refused(t, context.Background(), text, 1, begin), "worker client-1: it and the coordinator do not agree: "+want)
	}
}

// Messages that are out of place, or that ask for too much, end a run; they do no harm.
func TestOddWorkers(t *testing.T) {
	t.Parallel()
	s := serveTarget(t, nil)
	for want, behave := range map[string]func(*link, result.Identity){
		"ready for nothing":           func(l *link, _ result.Identity) { _ = l.send(message{Kind: ready}); await(l) },
		`expected ready, got "pizza"`: func(l *link, _ result.Identity) { _ = l.send(message{Kind: "pizza"}); await(l) },
		"not a message of a stone": func(l *link, _ result.Identity) {
			_, _ = l.out.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
			await(l)
		},
		`a file "../../x", which is no result`: func(l *link, id result.Identity) {
			_ = l.send(message{Kind: ready, Identity: &id, Planned: 1})
			_ = l.send(message{Kind: file, Name: "../../x", Data: []byte("x")})
			await(l)
		},
		`a piece of "part.json" within "latency.hlog"`: func(l *link, id result.Identity) {
			_ = l.send(message{Kind: ready, Identity: &id, Planned: 1})
			_ = l.send(message{Kind: file, Name: "latency.hlog", Data: []byte("x")})
			_ = l.send(message{Kind: file, Name: "part.json", Data: []byte("x")})
			await(l)
		},
		"part.json: no such file": func(l *link, id result.Identity) { // done, without a result
			_ = l.send(message{Kind: ready, Identity: &id, Planned: 1})
			_ = l.send(message{Kind: done})
			await(l)
		},
	} {
		says(t, refused(t, context.Background(), s.text(t, nil), 1, pretend(t, behave)), want)
	}
}

// The violations of all count together, and all are stopped once.
func TestTooManyViolationsTogether(t *testing.T) {
	t.Parallel()
	c := &crew{allowed: 10}
	heard := make(chan int64, 4)
	for range 2 {
		ours, theirs := pair()
		c.members = append(c.members, &member{link: ours})
		go func() {
			for {
				m, err := theirs.receive(time.Minute)
				if err != nil {
					return
				}
				heard <- m.Violations
			}
		}()
	}
	c.violated(c.members[0], 5)
	c.violated(c.members[1], 5)
	if c.aborted {
		t.Error("10 of 10 are too many")
	}
	c.violated(c.members[0], 3) // it had taken some for overdue that were not
	c.violated(c.members[1], 8)
	c.violated(c.members[1], 9)
	if a, b := <-heard, <-heard; a != 11 || b != 11 || len(heard) > 0 {
		t.Errorf("the workers heard of %d and %d violations", a, b)
	}
}

// What is enough ends the run of all workers early, with the results of what they sent until then.
func TestEndedEarlyTogether(t *testing.T) {
	t.Parallel()
	s, out := serveTarget(t, nil), t.TempDir()
	text := s.text(t, map[string]any{"warmup_s": 0, "duration_s": 600, "record_requests": true, "arrival": map[string]any{"process": "constant", "rate": 300}})
	enough := make(chan os.Signal, 1)
	go func() { <-s.first; enough <- os.Interrupt }()
	summary, err := run(context.Background(), text, crewOf(2), enough, out, nil, inProcess(context.Background()))
	if err != nil {
		t.Fatal(err)
	}
	if a := summary.Aborted; a == nil || a.Reason != "a signal ended it" || summary.Counts.Offered == 0 || summary.Counts.Offered >= summary.Planned {
		t.Fatalf("aborted %+v, %+v", a, summary.Counts)
	}
	for _, number := range []string{"0", "1"} {
		if _, err := os.Stat(filepath.Join(out, "workers", number, "requests.parquet")); err != nil {
			t.Error(err)
		}
	}
}

// A target that hangs ends the run of all workers early.
func TestAbortedTogether(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	s, out := serveTarget(t, hold), t.TempDir()
	text := s.text(t, map[string]any{"duration_s": 60, "drain_s": 60, "timeout_s": 60, "abort": true, "arrival": map[string]any{"process": "constant", "rate": 300},
		"slo": map[string]any{"percentile": 99.9, "latency_ms": 50}})
	summary, err := run(context.Background(), text, crewOf(2), nil, out, nil, inProcess(context.Background()))
	if err != nil {
		t.Fatal(err)
	}
	a := summary.Aborted
	if a == nil || !strings.HasSuffix(a.Reason, "of 18000 planned exceed 0.1 %") || summary.Counts.Offered >= summary.Planned {
		t.Fatalf("aborted %+v, %+v", a, summary.Counts)
	}
	for _, number := range []string{"0", "1"} {
		var part struct {
			Aborted struct{ Violations int64 }
			Counts  struct{ Offered int64 }
		}
		text, err := os.ReadFile(filepath.Join(out, "workers", number, "part.json"))
		if err != nil || json.Unmarshal(text, &part) != nil || part.Aborted.Violations <= 18 {
			t.Errorf("%v: part %s was stopped by %d violations", err, number, part.Aborted.Violations)
		}
	}
}
