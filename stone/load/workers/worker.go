package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"loadstone.dev/stone/load"
)

// files are what a worker sends back, as far as its run makes them.
var files = []string{"latency.hlog", "requests.parquet", "part.json"}

// handover is how long a coordinator waits for the one before it to have left.
var handover = 5 * time.Second

// Serve carries out the runs of coordinators, one at a time, until ctx ends. It logs a line for each.
func Serve(ctx context.Context, listener net.Listener, secret string, log io.Writer) error {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	post := make(chan struct{}, 1) // who has put something in carries out a run
	var running sync.WaitGroup
	defer running.Wait()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		running.Go(func() {
			defer conn.Close()
			err := serve(ctx, newLink(conn), secret, post)
			if err == nil {
				err = errors.New("done")
			}
			fmt.Fprintf(log, "%s run for %s: %v\n", time.Now().Format(time.RFC3339), conn.RemoteAddr(), err)
		})
	}
}

// serve speaks with one coordinator.
func serve(ctx context.Context, l *link, secret string, post chan struct{}) error {
	waiting := context.AfterFunc(ctx, func() { _ = l.conn.Close() })
	defer waiting()
	if err := admit(l, secret); err != nil {
		return err
	}
	if !take(post, handover) {
		_ = l.send(failure(errBusy))
		return errBusy
	}
	defer func() { <-post }()
	out := newOutbox(l)
	defer out.close()
	given, err := awaitPlan(l)
	if err != nil {
		return err
	}
	waiting() // from here on, the run is stopped, and the coordinator told
	dir, err := os.MkdirTemp("", "stone-worker-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	err = run(ctx, l, out, given, dir)
	out.close()
	if err != nil {
		_ = l.send(failure(err))
		return err
	}
	for _, name := range files {
		if err := sendFile(l, dir, name); err != nil {
			return err
		}
	}
	return l.send(message{Kind: done})
}

// take waits for the post to be free; false if it is not in time.
func take(post chan struct{}, patience time.Duration) bool {
	select {
	case post <- struct{}{}:
		return true
	default:
	}
	select {
	case post <- struct{}{}:
		return true
	case <-time.After(patience):
		return false
	}
}

// awaitPlan answers questions for the time until the plan comes.
func awaitPlan(l *link) (*load.Plan, error) {
	for {
		m, err := l.receive(silence)
		switch {
		case err != nil:
			return nil, err
		case m.Kind == ping:
			if err := l.send(message{Kind: pong, UnixNs: time.Now().UnixNano()}); err != nil {
				return nil, err
			}
		case m.Kind == plan:
			parsed, err := load.ParsePlan(m.Plan)
			if err != nil {
				_ = l.send(failure(err))
			}
			return parsed, err
		default:
			return nil, fmt.Errorf("expected a plan, got %q", m.Kind)
		}
	}
}

// run carries out a plan, as the coordinator says, and leaves what it found in the folder.
func run(ctx context.Context, l *link, out *outbox, given *load.Plan, dir string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	starts, aborts := make(chan int64, 1), make(chan int64, 1)
	go listen(l, starts, aborts, cancel)
	conductor := &load.Conductor{
		Ready: func(id load.Identity, planned int64) (time.Time, error) {
			if err := l.send(message{Kind: ready, Identity: &id, Planned: planned}); err != nil {
				return time.Time{}, err
			}
			select {
			case unixNs := <-starts:
				now := time.Now()
				return now.Add(time.Duration(unixNs - now.UnixNano())), nil
			case <-ctx.Done():
				return time.Time{}, context.Cause(ctx)
			}
		},
		Certain: func(violations int64) { out.post(message{Kind: certain, Violations: violations}) },
		Abort:   aborts,
	}
	_, err := load.RunPart(ctx, given, dir, lines{out}, conductor)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause // what came of it is less than why
	}
	return err
}

// listen hears what the coordinator says during the run, and ends the run with the connection.
func listen(l *link, starts, aborts chan<- int64, cancel context.CancelCauseFunc) {
	for {
		m, err := l.receive(0)
		if err != nil {
			cancel(fmt.Errorf("the coordinator is %w", err))
			return
		}
		switch m.Kind {
		case start:
			offer(starts, m.UnixNs)
		case abort:
			offer(aborts, m.Violations)
		default:
			cancel(fmt.Errorf("expected start or abort, got %q", m.Kind))
			return
		}
	}
}

// offer hands over a value, unless one was before.
func offer(to chan<- int64, value int64) {
	select {
	case to <- value:
	default:
	}
}

// lines turns the load generator's lines of progress into messages.
type lines struct{ out *outbox }

func (p lines) Write(line []byte) (int, error) {
	var now load.Progress
	if json.Unmarshal(bytes.TrimSpace(line), &now) == nil {
		p.out.post(message{Kind: progress, Progress: &now})
	}
	return len(line), nil
}

// sendFile sends a file, piece by piece; the last one is empty. A run need not have made it.
func sendFile(l *link, dir, name string) error {
	content, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer content.Close()
	buffer := make([]byte, piece)
	for {
		n, err := io.ReadFull(content, buffer)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if err := l.send(message{Kind: file, Name: name, Data: buffer[:n]}); err != nil || n == 0 {
			return err
		}
	}
}
