package workers

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loadstone.dev/stone/load"
)

// pretend is a worker that says what `behave` makes it say once its secret is accepted and it has a plan. It ends with
// the connection.
func pretend(t *testing.T, behave func(l *link, id load.Identity)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		l := newLink(conn)
		if admit(l, "") != nil {
			return
		}
		given, err := awaitPlan(l)
		if err != nil {
			return
		}
		if id, err := given.Identity(); err == nil {
			behave(l, id)
		}
	}()
	return listener.Addr().String()
}

// refused runs a plan that must fail, and returns why. No result may be left.
func refused(t *testing.T, ctx context.Context, text []byte, addresses ...string) error {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	_, err := Run(ctx, text, addresses, "", out, nil)
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
	other, log, _ := hire(t, "")
	lost := pretend(t, func(l *link, id load.Identity) {
		_ = l.send(message{Kind: ready, Identity: &id, Planned: 5})
		_, _ = l.receive(0) // the start
		<-s.first           // of the other's
	})
	says(t, refused(t, context.Background(), s.text(t, nil), other, lost), "worker "+lost+": lost: it closed the connection")
	if line := <-log; !strings.Contains(line, "the coordinator is lost") {
		t.Errorf("the other worker logged %q", line)
	}
}

// Ctrl-C stops all workers; they are free for the next run.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	s := serveTarget(t, hold)
	first, firstLog, _ := hire(t, "")
	second, secondLog, _ := hire(t, "")
	ctx, interrupt := context.WithCancel(context.Background())
	go func() { <-s.first; interrupt() }()
	if err := refused(t, ctx, s.text(t, nil), first, second); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for _, log := range []journal{firstLog, secondLog} {
		if line := <-log; !strings.Contains(line, "the coordinator is lost") {
			t.Errorf("a worker logged %q", line)
		}
	}
}

// A worker that is stopped says so before it goes.
func TestAStoppedWorker(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	s := serveTarget(t, hold)
	address, _, stop := hire(t, "")
	go func() { <-s.first; stop() }()
	says(t, refused(t, context.Background(), s.text(t, nil), address), "worker "+address+": the worker was stopped")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := serveTarget(t, nil)
	ctx := context.Background()
	var mistake *load.PlanError
	for _, c := range []struct {
		text []byte
		says string
	}{
		{[]byte(`{"target": here}`), "not JSON"},
		{s.text(t, map[string]any{"warmup": 1}), "warmup: no such key"},
		{s.text(t, map[string]any{"part": map[string]any{"number": 0, "of": 2}}), "part: is for workers without a coordinator"},
		{s.text(t, map[string]any{"start_unix_ns": 7}), "start_unix_ns: is for workers without a coordinator"},
		{s.text(t, map[string]any{"connections": 3, "threads": 2}), "connections: 3 is less than threads (4)"},
		{s.text(t, map[string]any{"cpus": []int{1000}}), "cpus: cannot run on CPU 1000"},
	} {
		err := refused(t, ctx, c.text, hireAll(t, 2, "")...)
		says(t, err, c.says)
		if !errors.As(err, &mistake) {
			t.Errorf("%v is not a mistake of the plan", err)
		}
	}
	says(t, refused(t, ctx, s.text(t, nil), "a:1", "b:1", "a:1"), "worker: a:1 is named twice")
	says(t, refused(t, ctx, s.text(t, nil), "somewhere"), `worker: "somewhere" is not HOST:PORT`)
	says(t, refused(t, ctx, s.text(t, nil), "127.0.0.1:1"), "is `stone worker` running there?")

	gone := httptest.NewServer(nil)
	text := s.text(t, map[string]any{"target": gone.URL})
	gone.Close()
	err := refused(t, ctx, text, hireAll(t, 2, "")...)
	if !errors.Is(err, load.ErrUnreachable) || strings.Count(err.Error(), load.ErrUnreachable.Error()) != 1 {
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
	for want, change := range map[string]func(*load.Identity){
		"their plans differ in seed": func(id *load.Identity) {
			id.Plan = json.RawMessage(strings.Replace(string(id.Plan), `"seed":7`, `"seed":8`, 1))
		},
		words + " is not the same file for both; copy it": func(id *load.Identity) { id.Files[words] = "0" },
		"their schedules differ":                          func(id *load.Identity) { id.Arrivals.Count-- },
	} {
		address := pretend(t, func(l *link, id load.Identity) {
			change(&id)
			_ = l.send(message{Kind: ready, Identity: &id})
			_, _ = l.receive(0)
		})
		says(t, refused(t, context.Background(), text, address), "worker "+address+": it and the coordinator do not agree: "+want)
	}
}

// Messages that are out of place, or that ask for too much, end a run; they do no harm.
func TestOddWorkers(t *testing.T) {
	t.Parallel()
	s := serveTarget(t, nil)
	for want, behave := range map[string]func(*link, load.Identity){
		"ready for nothing":           func(l *link, _ load.Identity) { _ = l.send(message{Kind: ready}); _, _ = l.receive(0) },
		`expected ready, got "pizza"`: func(l *link, _ load.Identity) { _ = l.send(message{Kind: "pizza"}); _, _ = l.receive(0) },
		"not a message of a stone": func(l *link, _ load.Identity) {
			_, _ = l.conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
			_, _ = l.receive(0)
		},
		`a file "../../x" that nobody asked for`: func(l *link, id load.Identity) {
			_ = l.send(message{Kind: ready, Identity: &id, Planned: 1})
			_ = l.send(message{Kind: file, Name: "../../x", Data: []byte("x")})
			_, _ = l.receive(0)
			_, _ = l.receive(0)
		},
		"part.json": func(l *link, id load.Identity) { // done, and nothing was there
			_ = l.send(message{Kind: ready, Identity: &id, Planned: 1})
			_, _ = l.receive(0)
			_ = l.send(message{Kind: done})
			_, _ = l.receive(0)
		},
	} {
		says(t, refused(t, context.Background(), s.text(t, nil), pretend(t, behave)), want)
	}
	ours, theirs := net.Pipe()
	go func() { _ = newLink(theirs).send(message{Kind: hello, Version: 99}) }()
	if err := introduce(newLink(ours), ""); err == nil || !strings.Contains(err.Error(), "it speaks version 99 of the protocol") {
		t.Errorf("%v", err)
	}
}

// The violations of all count together, and all are stopped once.
func TestTooManyViolationsTogether(t *testing.T) {
	t.Parallel()
	c := &crew{allowed: 10}
	heard := make(chan int64, 4)
	for range 2 {
		ours, theirs := net.Pipe()
		c.members = append(c.members, &member{link: newLink(ours)})
		go func() {
			l := newLink(theirs)
			for {
				m, err := l.receive(0)
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

// A target that hangs ends the run of all workers early.
func TestAbortedTogether(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	s, out := serveTarget(t, hold), t.TempDir()
	text := s.text(t, map[string]any{"duration_s": 60, "drain_s": 60, "timeout_s": 60, "abort": true, "arrival": map[string]any{"process": "constant", "rate": 300},
		"slo": map[string]any{"percentile": 99.9, "latency_ms": 50}})
	summary, err := Run(context.Background(), text, hireAll(t, 2, ""), "", out, nil)
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

func TestSilence(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	if _, err := newLink(ours).receive(time.Millisecond); err == nil || err.Error() != "lost: it has said nothing for 1ms" {
		t.Errorf("%v", err)
	}
	go func() { _, _ = theirs.Write([]byte(strings.Repeat("x", 2*strangers))) }()
	if _, err := newLink(ours).receive(0); !errors.Is(err, errLong) {
		t.Errorf("%v", err)
	}
}
