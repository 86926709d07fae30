package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/export"
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/schedule"
)

const never = export.Never

// requestLog is one thread's end of requests.parquet. A nil one keeps nothing.
type requestLog struct {
	sink      *export.Sink
	worker    int32
	catalogue *request.Catalogue
	kinds     []*request.Kind
}

// add notes a request of the window that was sent.
func (l *requestLog) add(x *exchange, ended int64, outcome string) {
	if l != nil {
		l.sink.Add(export.Request{
			N: x.n, Operation: l.name(x.op), Scheduled: x.at, Sent: x.sentAt, Ended: ended, Status: int32(x.status),
			Outcome: outcome, Bytes: x.size, Worker: l.worker,
		})
	}
}

// never notes one that was not.
func (l *requestLog) never(n uint64, op int32, at int64, outcome string) {
	if l != nil {
		l.sink.Add(export.Request{N: n, Operation: l.name(op), Scheduled: at, Sent: never, Ended: never, Outcome: outcome, Worker: l.worker})
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
	log     *intervalLog
	stream  *export.Stream // requests.parquet, nil if nobody asked for it
	threads []*requestLog
}

func newOutputs(r *run, dir string) (*outputs, error) {
	o := &outputs{dir: dir}
	var err error
	if o.log, err = newIntervalLog(filepath.Join(dir, logFile), r.clock.start); err != nil {
		return nil, err
	}
	if !r.plan.RecordRequests {
		return o, nil
	}
	file, err := export.OpenRequests(filepath.Join(dir, requestsFile), r.clock.start)
	if err != nil {
		o.log.discard()
		return nil, err
	}
	o.stream = export.NewStream(file, len(r.workers))
	for _, w := range r.workers {
		w.recorder.log = &requestLog{sink: o.stream.Sink(), worker: int32(w.number), catalogue: r.catalogue}
		o.threads = append(o.threads, w.recorder.log)
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
		return nil, fmt.Errorf("%s: %w", requestsFile, err)
	}
	return new(stream.Lost()), nil
}

// finish puts the other files into place; the summary is the last.
func (o *outputs) finish(f *findings, s *Summary) error {
	if err := o.log.finish(); err != nil {
		return err
	}
	return f.write(o.dir, s)
}

// write puts the texts and the summary into a folder.
func (f *findings) write(dir string, s *Summary) error {
	text, err := f.text(s)
	if err != nil {
		return err
	}
	if err := putFile(filepath.Join(dir, "latency.hgrm"), func(w io.Writer) error { return export.Spectrum(w, text.Latency) }); err != nil {
		return err
	}
	if err := putFile(filepath.Join(dir, "wrk2.txt"), func(w io.Writer) error { return export.Wrk2(w, text) }); err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, summaryFile), s)
}

// discard removes what was begun. The threads have ended.
func (o *outputs) discard(settled bool) {
	o.log.discard()
	if o.stream == nil {
		_ = os.Remove(filepath.Join(o.dir, requestsFile)) // whole, but of a run that failed
		return
	}
	if !settled {
		for _, thread := range o.threads {
			thread.close()
		}
	}
	o.stream.Discard()
}

// putFile makes a file, whole or not at all.
func putFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(file)
	if err = write(buffer); err == nil {
		err = buffer.Flush()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(path + ".part")
		return err
	}
	return os.Rename(path+".part", path)
}

// text is the run as wrk2 would tell it.
func (f *findings) text(s *Summary) (export.Text, error) {
	plan := defaults()
	if err := json.Unmarshal(f.Plan, plan); err != nil {
		return export.Text{}, err
	}
	t := export.Text{
		Layout: plan.Wrk2Layout, URL: plan.Target, Threads: f.Generator.Threads, Connections: plan.Connections, Duration: schedule.Seconds(f.WindowS),
		Latency: f.intended(), Rates: f.Rates.Histogram, Answers: s.CompletedInWindow, Bytes: f.Generator.Bytes, Timeout: s.Counts.Timeouts,
	}
	for _, e := range f.Errors {
		switch {
		case strings.HasPrefix(e.Kind, skippedPrefix):
		case strings.HasPrefix(e.Kind, connectPrefix):
			t.Connect += e.Count
		case strings.HasPrefix(e.Kind, request.StatusPrefix):
			t.Status += e.Count
		default:
			t.Read += e.Count
		}
	}
	t.Answers += t.Status
	return t, nil
}

// intended is the latencies of all requests, from the intended time.
func (f *findings) intended() *hdr.Histogram {
	all := newHistogram()
	for i := range f.Kinds {
		all.Merge(f.Kinds[i].Intended.Histogram)
		all.Merge(f.unheard(&f.Kinds[i]))
	}
	return all
}
