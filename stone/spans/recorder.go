package spans

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What a recorder can answer to a request or a wish. Other errors are unexpected.
var (
	ErrFull     = errors.New("no room for these spans now; send them again")
	ErrBad      = errors.New("bad input")
	ErrConflict = errors.New("not now")
)

// Recorder takes requests and makes files of them, one trial at a time. Its methods may be called by several goroutines.
type Recorder struct {
	budget  Budget
	forward *Forwarder    // nil: nothing is sent on
	waiting atomic.Int64  // bytes of requests in Take, but for large ones
	large   chan struct{} // the turn of a large request

	lock     sync.Mutex
	trial    *trial        // nil: what comes is outside
	finished chan struct{} // closed when the trial that is being ended has its file; nil: none is being ended
	outside  int64
	spoiled  int64 // unreadable spans outside
	unread   int64 // unread requests outside
	ledger   ledger
	reader   reader
	arrived  chan struct{} // closed and made anew as spans arrive, where a caller waits
	last     time.Time     // when spans came, or the trial began to end
}

// NewRecorder makes a recorder that sends what it takes on to forward, unless that is nil.
func NewRecorder(budget Budget, forward *Forwarder) *Recorder {
	return &Recorder{budget: budget, forward: forward, large: make(chan struct{}, 1), ledger: ledger{map[string]Sender{}}}
}

// usualRequestBytes are of requests that may be in memory beside each other. Exporters send far less at a time; of
// requests that are larger one has its turn after the other.
const usualRequestBytes = 4 << 20

// turn waits until a large request may be read and taken. It returns ErrFull if the sender does not wait so long; else
// the turn lasts until done is called.
func (r *Recorder) turn(ctx context.Context) (done func(), err error) {
	select {
	case r.large <- struct{}{}:
		return func() { <-r.large }, nil
	case <-ctx.Done():
		return nil, ErrFull
	}
}

// Take takes the spans of an ExportTraceServiceRequest and returns how many of them were rejected for good, as they are
// no spans. The request may be reused afterwards. It returns ErrFull if there is no room or the sender does not wait any
// longer, so that it will send these spans again or count them as dropped, and ErrBad if the request is unreadable.
func (r *Recorder) Take(ctx context.Context, request []byte, from Sender) (rejected int64, err error) {
	size := int64(len(request))
	if size > usualRequestBytes {
		size = 0 // it has a turn
	}
	defer r.waiting.Add(-size)
	waiting := r.waiting.Add(size)
	spans, err := count(request)
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.trial == nil {
		return 0, r.pass(request, spans, from, err)
	}
	r.tell(from)
	of := r.trial
	if err == nil && (waiting > r.budget.Waiting || ctx.Err() != nil) {
		of.counts.Refused += spans
		return 0, ErrFull
	}
	if err == nil {
		r.reader.names = of.names
		err = r.reader.read(request)
	}
	defer r.reader.forget()
	if err != nil {
		of.counts.Unread++
		of.counts.Unreadable += spans
		return 0, unreadable(err)
	}
	rejected = r.reader.rejected
	of.counts.Unreadable += rejected
	early := r.reader.leaveOut(of.since)
	if !of.take(r.reader.spans) {
		of.counts.Refused += int64(len(r.reader.spans))
		return 0, ErrFull
	}
	r.taken(spans-rejected-early, from)
	r.early(early, from)
	r.send(request, spans)
	return rejected, nil
}

// Unread counts a request that did not even become bytes that Take could read: its number of spans is unknown.
func (r *Recorder) Unread(from Sender) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.trial == nil {
		_ = r.pass(nil, 0, from, ErrBad)
		return
	}
	r.tell(from)
	r.trial.counts.Unread++
}

// pass counts spans that no trial is there for.
func (r *Recorder) pass(request []byte, spans int64, from Sender, err error) error {
	if from.Instance != "" {
		r.ledger.tell(from)
	}
	if err != nil {
		r.unread++
		r.spoiled += spans
		return unreadable(err)
	}
	r.outside += spans
	r.send(request, spans)
	return nil
}

func (r *Recorder) send(request []byte, spans int64) {
	if r.forward != nil {
		r.forward.add(request, spans)
	}
}

// tell takes note of the numbers of a sender that tells some.
func (r *Recorder) tell(from Sender) {
	if from.Instance != "" {
		produced, dropped := r.ledger.tell(from)
		r.trial.counts.add(from.Instance, 0, &produced, &dropped)
	}
}

// early counts spans that ended before the trial began: neither were they produced in it.
func (r *Recorder) early(spans int64, from Sender) {
	r.trial.counts.Outside += spans
	if from.Instance != "" {
		less := -spans
		r.trial.counts.add(from.Instance, 0, &less, nil)
	}
}

// taken counts the spans that were read last.
func (r *Recorder) taken(spans int64, from Sender) {
	counts := &r.trial.counts
	counts.Received += spans
	for i := range r.reader.spans {
		if s := &r.reader.spans[i]; s.operation == otherName || s.peer == otherName || s.service == otherName {
			counts.Unnamed++
		}
	}
	if from.Instance != "" {
		counts.add(from.Instance, spans, nil, nil)
	} else {
		for rest := r.reader.spans; len(rest) > 0; {
			n, of := 1, &rest[0]
			for n < len(rest) && rest[n].replica == of.replica && rest[n].service == of.service {
				n++
			}
			name := r.trial.names.name(of.replica)
			if name == "" {
				name = r.trial.names.name(of.service)
			}
			counts.add(name, int64(n), nil, nil)
			rest = rest[n:]
		}
	}
	r.last = time.Now()
	if r.arrived != nil {
		close(r.arrived)
		r.arrived = nil
	}
}

// Begin begins a trial whose spans become this file, but for those that ended before since (ns, unix): senders are late.
// It returns ErrConflict while there is another one, and ErrBad if the file cannot be written.
func (r *Recorder) Begin(file string, since int64) error {
	switch {
	case !filepath.IsAbs(file):
		return fmt.Errorf("%w: file %q is no absolute path", ErrBad, file)
	case strings.HasSuffix(file, PiecesSuffix):
		return fmt.Errorf("%w: file %q: %s is for the pieces of a file; take another name", ErrBad, file, PiecesSuffix)
	}
	if folder, err := os.Stat(file); err == nil && folder.IsDir() {
		return fmt.Errorf("%w: file %q is a folder", ErrBad, file)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if err := r.free(); err != nil {
		return err
	}
	trial, err := beginTrial(file, r.budget, &r.lock)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBad, err)
	}
	trial.counts.Outside, trial.since = r.outside, since
	trial.sent, trial.unsent = r.forward.counts()
	r.outside, r.spoiled, r.unread, r.trial, r.last = 0, 0, 0, trial, time.Time{}
	return nil
}

func (r *Recorder) free() error {
	switch {
	case r.finished != nil:
		return fmt.Errorf("%w: the last trial is being finished", ErrConflict)
	case r.trial != nil:
		return fmt.Errorf("%w: a trial is running, into %s; end it first", ErrConflict, r.trial.file)
	}
	return nil
}

// End waits until no span has come for quiet, from now on and at most within, then makes the trial's file and returns its counts.
// It returns ErrConflict if there is no trial.
func (r *Recorder) End(quiet, within time.Duration) (Counts, error) {
	r.lock.Lock()
	if r.trial == nil || r.finished != nil {
		defer r.lock.Unlock()
		if r.finished != nil {
			return Counts{}, r.free()
		}
		return Counts{}, fmt.Errorf("%w: no trial is running; begin one first", ErrConflict)
	}
	r.finished = make(chan struct{})
	r.last = time.Now() // what ended just now has still to come: silence counts from here on
	r.lock.Unlock()

	silent := r.wait(quiet, within)

	r.lock.Lock()
	ended := r.trial
	ended.counts.Quiet = silent
	r.sentOn(ended)
	r.trial = nil
	r.lock.Unlock()
	counts, err := ended.end()
	r.lock.Lock()
	close(r.finished)
	r.finished = nil
	r.lock.Unlock()
	return counts, err
}

// Close ends a trial that is still running, at once, or waits until one that is being ended has its file.
func (r *Recorder) Close() error {
	r.lock.Lock()
	finished := r.finished
	r.lock.Unlock()
	if finished != nil {
		<-finished
		return nil // the caller that ended it got its errors
	}
	if _, err := r.End(0, 0); !errors.Is(err, ErrConflict) {
		return err
	}
	return nil // no trial
}

// wait waits for the silence that End wants and tells whether there was.
func (r *Recorder) wait(quiet, within time.Duration) bool {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for {
		r.lock.Lock()
		silence := time.Until(r.last.Add(quiet))
		if r.arrived == nil {
			r.arrived = make(chan struct{})
		}
		arrived := r.arrived
		r.lock.Unlock()
		if silence <= 0 {
			return true
		}
		select {
		case <-time.After(silence):
		case <-arrived:
		case <-deadline.C:
			return false
		}
	}
}

func (r *Recorder) sentOn(t *trial) {
	sent, unsent := r.forward.counts()
	t.counts.Forwarded, t.counts.NotForwarded = sent-t.sent, unsent-t.unsent
}

// Counts tells what has become of the spans of the running trial so far, or that there is none.
func (r *Recorder) Counts() Counts {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.trial == nil {
		return Counts{Outside: r.outside, Unreadable: r.spoiled, Unread: r.unread, Replicas: map[string]Replica{}}
	}
	r.sentOn(r.trial)
	counts := r.trial.counts
	counts.Replicas = maps.Clone(counts.Replicas)
	return counts
}
