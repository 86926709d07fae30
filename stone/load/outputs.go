package load

import (
	"fmt"
	"os"
	"path/filepath"

	"loadstone.dev/stone/load/export"
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/result"
)

const never = export.Never

// requestLog is one thread's end of requests.parquet. A nil one keeps nothing.
type requestLog struct {
	sink      *export.Sink
	thread    int32
	catalogue *request.Catalogue
	kinds     []*request.Kind
}

// add notes a request of the window that was sent.
func (l *requestLog) add(x *exchange, ended int64, outcome string) {
	if l == nil {
		return
	}
	row := export.Request{
		N: x.n, Operation: l.name(x.op), Scheduled: x.at, Sent: x.sentAt, Ended: ended, Status: int32(x.status),
		Outcome: outcome, Bytes: x.size, Thread: l.thread,
	}
	if c := x.client; c != nil {
		if row.Client = int32(c.number + 1); c.counted > 0 {
			row.Iteration = int32(c.current.Number)
		}
	}
	l.sink.Add(row)
}

// never notes one that was not.
func (l *requestLog) never(n uint64, op int32, at int64, outcome string) {
	if l != nil {
		l.sink.Add(export.Request{N: n, Operation: l.name(op), Scheduled: at, Sent: never, Ended: never, Outcome: outcome, Thread: l.thread})
	}
}

func (l *requestLog) name(op int32) string {
	if int(op) >= len(l.kinds) {
		l.kinds = l.catalogue.List()
	}
	return l.kinds[op].Name
}

func (l *requestLog) close() {
	if l != nil {
		l.sink.Close()
	}
}

func outcomeOf(inTime bool) string {
	if inTime {
		return "completed"
	}
	return "late"
}

// outputs is what a run writes besides summary.json.
type outputs struct {
	dir     string
	log     *result.IntervalLog
	stream  *export.Stream // requests.parquet, nil if not requested
	threads []*requestLog
}

func newOutputs(r *run, dir string) (*outputs, error) {
	o := &outputs{dir: dir}
	var err error
	if o.log, err = result.NewIntervalLog(filepath.Join(dir, result.LogFile), r.clock.start); err != nil {
		return nil, err
	}
	if !r.plan.RecordRequests {
		return o, nil
	}
	file, err := export.OpenRequests(filepath.Join(dir, result.RequestsFile), r.clock.start)
	if err != nil {
		o.log.Discard()
		return nil, err
	}
	o.stream = export.NewStream(file, len(r.threads))
	for _, t := range r.threads {
		t.recorder.log = &requestLog{sink: o.stream.Sink(), thread: int32(t.number), catalogue: r.catalogue}
		o.threads = append(o.threads, t.recorder.log)
	}
	return o, nil
}

// closeRequests puts requests.parquet into place, if there is one, and says how many of its rows were lost.
func (o *outputs) closeRequests() (lost *int64, err error) {
	if o.stream == nil {
		return nil, nil
	}
	stream := o.stream
	o.stream = nil // it is closed once, whatever comes of it
	if err := stream.Close(); err != nil {
		return nil, fmt.Errorf("%s: %w", result.RequestsFile, err)
	}
	return new(stream.Lost()), nil
}

// finish puts the other files into place; the summary is the last.
func (o *outputs) finish(f *result.Findings, s *result.Summary) error {
	if err := o.log.Finish(); err != nil {
		return err
	}
	return f.Write(o.dir, s)
}

// discard removes what was begun. The threads have ended.
func (o *outputs) discard(settled bool) {
	o.log.Discard()
	if o.stream == nil {
		_ = os.Remove(filepath.Join(o.dir, result.RequestsFile)) // whole, but of a run that failed
		return
	}
	if !settled {
		for _, thread := range o.threads {
			thread.close()
		}
	}
	o.stream.Discard()
}
