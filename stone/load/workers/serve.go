package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"loadstone.dev/stone/load"
	"loadstone.dev/stone/load/result"
	"loadstone.dev/stone/reference"
)

// results are the files that a worker sends back, as far as its run makes them.
var results = []string{"latency.hlog", "requests.parquet", "part.json"}

// worker is this process, as it carries out a run for a coordinator.
type worker struct {
	link   *link
	outbox *outbox
	folder string            // private; all files are in it, and go with it
	copies map[string]string // copies of the plan's files, by the path that the plan names
}

// Serve carries out one run for the coordinator at the other end of in and out. It returns when the run is over, when
// ctx ends, or when in does, and leaves nothing behind.
func Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	folder, err := os.MkdirTemp("", "stone-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	w := &worker{link: newLink(in, out), folder: folder, copies: map[string]string{}}
	defer w.link.close()
	if err := w.link.send(message{Kind: hello, Version: version}); err != nil {
		return err
	}
	w.outbox = newOutbox(w.link)
	defer w.outbox.close()
	given, before, err := w.prepare(ctx)
	if err == nil {
		err = w.run(ctx, given, before)
	}
	w.outbox.close()
	if err != nil {
		_ = w.link.send(w.failure(err))
		return err
	}
	for _, name := range results {
		path := filepath.Join(w.folder, name)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := sendFile(w.link, path, name); err != nil {
			return err
		}
	}
	return w.link.send(message{Kind: done, ReferenceMs: reference.Time()})
}

// prepare answers pings and stores files until the plan comes, and times the reference loop.
func (w *worker) prepare(ctx context.Context) (given *load.Plan, referenceMs float64, err error) {
	stop := context.AfterFunc(ctx, w.link.close)
	defer stop()
	files := inbox{place: w.place}
	defer files.close()
	for {
		m, err := w.link.receive(silence)
		if err != nil {
			return nil, 0, fmt.Errorf("the coordinator is %w", err)
		}
		switch m.Kind {
		case alive:
		case ping:
			err = w.link.send(message{Kind: pong, UnixNs: time.Now().UnixNano()})
		case file:
			err = files.keep(m.Name, m.Data)
		case plan:
			given, err := load.ParsePlanWithCopies(m.Plan, w.copies)
			if err != nil {
				return nil, 0, err
			}
			return given, reference.Time(), nil
		default:
			err = fmt.Errorf("expected a plan, got %q", m.Kind)
		}
		if err != nil {
			return nil, 0, err
		}
	}
}

// place says where the copy of a file goes. Its base name stays, for what looks at how a file's name ends.
func (w *worker) place(path string) (string, error) {
	base := filepath.Base(path)
	if base == "." || base == ".." || base == string(filepath.Separator) {
		return "", fmt.Errorf("%q is not the path of a file", path)
	}
	w.copies[path] = filepath.Join(w.folder, "files", fmt.Sprint(len(w.copies)), base)
	return w.copies[path], nil
}

// failure makes the message of an error, which names files as the plan does.
func (w *worker) failure(err error) message {
	m := failure(err)
	for path, stored := range w.copies {
		m.Text = strings.ReplaceAll(m.Text, stored, path)
	}
	return m
}

// run carries out a plan, as the coordinator commands, and leaves what it found in the folder.
func (w *worker) run(ctx context.Context, given *load.Plan, referenceMs float64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	starts, aborts := make(chan int64, 1), make(chan int64, 1)
	go w.obey(starts, aborts, cancel)
	var marks sync.WaitGroup
	defer marks.Wait()
	conductor := &load.Conductor{
		Ready: func(id result.Identity, planned int64) (time.Time, error) {
			if err := w.link.send(message{Kind: ready, Identity: &id, Planned: planned, ReferenceMs: referenceMs}); err != nil {
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
		Certain: func(violations int64) { w.outbox.post(message{Kind: certain, Violations: violations}) },
		Abort:   aborts,
		Mark: func(edge string) {
			marks.Go(func() { _ = w.link.send(message{Kind: mark, Name: edge}) }) // a link that is lost is noticed elsewhere
		},
	}
	_, err := load.RunPart(ctx, given, w.folder, lines{w.outbox}, conductor)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause // what came of it is less than why
	}
	return err
}

// obey receives commands during the run, and ends the run with the link.
func (w *worker) obey(starts, aborts chan<- int64, cancel context.CancelCauseFunc) {
	for {
		m, err := w.link.receive(silence)
		if err != nil {
			cancel(fmt.Errorf("the coordinator is %w", err))
			return
		}
		switch m.Kind {
		case alive:
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
	var now result.Progress
	if json.Unmarshal(bytes.TrimSpace(line), &now) == nil {
		p.out.post(message{Kind: progress, Progress: &now})
	}
	return len(line), nil
}
