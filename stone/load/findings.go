package load

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/schedule"
)

// findings are everything that one worker found of its share of a plan. A summary is computed from one part; those of
// several workers are merged into one before (merge.go). part.json holds it.
type findings struct {
	Schema int  `json:"schema"`
	Part   Part `json:"part"`
	Identity
	Loop        string         `json:"loop"`
	SLO         *SLO           `json:"slo"`
	WindowS     float64        `json:"window_s"`
	FromNs      int64          `json:"from_ns"` // the window, from the start
	ToNs        int64          `json:"to_ns"`
	TimeoutNs   int64          `json:"timeout_ns"`
	Started     time.Time      `json:"started"`
	EndNs       int64          `json:"end_ns"`     // when the last thread ended
	SlowestNs   int64          `json:"slowest_ns"` // the longest latency of an answer
	Planned     int64          `json:"planned"`
	Offered     int64          `json:"offered"`
	Kinds       []kindFindings `json:"kinds"`
	Lateness    histogram      `json:"lateness"`
	Rates       histogram      `json:"rates"`    // good answers of each thread in each whole second of the window
	LessOwn     histogram      `json:"less_own"` // latency less the own delay, with an SLO only; see summary
	Batches     [batches]tenth `json:"batches"`
	Series      [steps]slice   `json:"series"`
	Errors      []ErrorSummary `json:"errors"`
	Connections Connections    `json:"connections"`
	Aborted     *abort         `json:"aborted"`
	Generator   effort         `json:"generator"`
	ahead       time.Duration  // what the worker's clock is known to be ahead
}

// kindFindings are what became of the requests of one kind.
type kindFindings struct {
	Name     string        `json:"name"`
	Counts   Counts        `json:"counts"`
	Good     int64         `json:"good"` // completed within the SLO
	Own      ByGenerator   `json:"own"`
	All      All           `json:"all"`
	Intended histogram     `json:"intended"` // of answers alone
	Service  histogram     `json:"service"`
	Unheard  map[int]int64 `json:"unheard"` // requests without a good answer, by thousandths of the window
}

// tenth of the window: requests due in it, settled in it, completed in it, and settled in it if each came sooner by its
// own delay.
type tenth struct {
	Offered   int64 `json:"offered"`
	Answered  int64 `json:"answered"`
	Completed int64 `json:"completed"`
	Relieved  int64 `json:"relieved"`
}

// abort says when the run was stopped, from the start, and the violations until then.
type abort struct {
	AtNs       int64 `json:"at_ns"`
	Violations int64 `json:"violations"`
}

// effort is what a worker's process used.
type effort struct {
	CPUNs         int64     `json:"cpu_ns"`
	CPUShare      float64   `json:"cpu_share"`
	SendingNs     int64     `json:"sending_ns"`   // of the load threads in the window
	SendingSent   int64     `json:"sending_sent"` // what they sent in it
	Sent          int64     `json:"sent"`         // warm-up included
	Wait          string    `json:"wait"`
	Threads       int       `json:"threads"`
	OwnLateness   histogram `json:"own_lateness"`
	ScriptStarved int64     `json:"script_starved"`
	ScriptLost    int64     `json:"script_lost"`
	Bytes         int64     `json:"bytes"` // received in the window
	ThrottledS    *float64  `json:"throttled_s"`
	RunDelayS     *float64  `json:"run_delay_s"`
	RunDelayShare *float64  `json:"run_delay_share"`
	RequestsLost  *int64    `json:"requests_lost"`
}

// histogram is written as in an interval log: V2, compressed, base64.
type histogram struct{ *hdr.Histogram }

func (h histogram) MarshalText() ([]byte, error) {
	return h.Encode(hdr.V2CompressedEncodingCookieBase)
}

func (h *histogram) UnmarshalText(text []byte) (err error) {
	h.Histogram, err = hdr.Decode(text)
	return err
}

// findings gathers what the threads found; it fails if a request of the schedule is not accounted for.
func (r *run) findings(o offers, c *collector) (*findings, error) {
	total := c.total
	f := &findings{
		Schema: partSchema, Part: r.plan.part(), Identity: r.identity, Loop: r.plan.loop(), SLO: r.plan.SLO,
		WindowS: r.plan.DurationS, FromNs: r.schedule.From, ToNs: r.schedule.To, TimeoutNs: int64(schedule.Seconds(r.plan.TimeoutS)),
		Started: r.clock.start, EndNs: r.end, Planned: r.planned, Offered: o.total, Lateness: histogram{total.lateness}, Rates: histogram{newRates()},
		LessOwn: histogram{newHistogram()}, Generator: r.effort(),
	}
	for op, kind := range r.catalogue.List() {
		k, unscheduled := r.kindFindings(op, kind.Name, total)
		f.Offered += unscheduled
		if op < len(o.byKind) && k.Counts.Offered != o.byKind[op]+unscheduled {
			return nil, fmt.Errorf("accounting: %s: the schedule has %d, %d are accounted for; this is a defect of stone",
				kind.Name, o.byKind[op]+unscheduled, k.Counts.Offered)
		}
		f.Kinds = append(f.Kinds, k)
	}
	for i := range f.Batches {
		f.Batches[i].Offered = o.batches[i]
	}
	for _, w := range r.workers {
		f.SlowestNs = max(f.SlowestNs, w.recorder.slowest)
		if w.recorder.lessOwn != nil {
			f.LessOwn.Merge(w.recorder.lessOwn)
		}
		for i := range f.Batches {
			f.Batches[i].add(tenth{w.recorder.offered[i], w.recorder.answered[i], w.recorder.completed[i], w.recorder.relieved[i]})
		}
		for i := range f.Series {
			f.Series[i].add(w.recorder.series[i])
		}
		w.recorder.rates(f.Rates.Histogram, w.end)
	}
	f.Errors, f.Connections = r.errors(), r.connections()
	if at := r.control.aborted.Load(); at > 0 {
		f.Aborted = &abort{at, r.control.violation.Load()}
	}
	return f, nil
}

// kindFindings gathers one kind, and says how many of its requests no schedule knew beforehand.
func (r *run) kindFindings(op int, name string, total *interval) (k kindFindings, unscheduled int64) {
	latencies := total.of(int32(op))
	k = kindFindings{Name: name, Intended: histogram{latencies.intended}, Service: histogram{latencies.service}, Unheard: map[int]int64{}}
	var t tally
	for _, w := range r.workers {
		if op >= len(w.recorder.tallies) {
			continue
		}
		t.add(w.recorder.tallies[op])
		for bin, count := range w.recorder.unheard[op] {
			if count > 0 {
				k.Unheard[bin] += count
			}
		}
	}
	k.Counts, k.Good, k.All, k.Own = t.counts(), t.good, t.all, t.own
	return k, t.offered
}

// counts is the outcome of every request of a kind.
func (t *tally) counts() Counts {
	return Counts{
		Offered: t.completed + t.late + t.errors + t.timeouts + t.unsent + t.inFlight,
		Sent:    t.sent, Completed: t.completed, Late: t.late, Errors: t.errors, Timeouts: t.timeouts, Unsent: t.unsent,
		InFlight: t.inFlight, Skipped: t.skipped, Abandoned: t.abandoned,
	}
}

func (t *tenth) add(o tenth) {
	t.Offered += o.Offered
	t.Answered += o.Answered
	t.Completed += o.Completed
	t.Relieved += o.Relieved
}

// errors lists the kinds of errors of all threads.
func (r *run) errors() []ErrorSummary {
	var list []ErrorSummary
	kinds := r.catalogue.List()
	for _, w := range r.workers {
		for f, failure := range w.recorder.failures {
			list = append(list, ErrorSummary{f.cause.Error(), kinds[f.op].Name, failure.count, strings.ToValidUTF8(failure.example, "\uFFFD")})
		}
	}
	return gather(list)
}

// gather adds up what is of one kind and one operation; the most frequent come first.
func gather(list []ErrorSummary) []ErrorSummary {
	slices.SortStableFunc(list, func(a, b ErrorSummary) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Operation, b.Operation))
	})
	gathered := []ErrorSummary{}
	for _, e := range list {
		last := len(gathered) - 1
		if last < 0 || gathered[last].Kind != e.Kind || gathered[last].Operation != e.Operation {
			gathered = append(gathered, e)
			continue
		}
		gathered[last].Count += e.Count
		gathered[last].Example = cmp.Or(gathered[last].Example, e.Example)
	}
	slices.SortStableFunc(gathered, func(a, b ErrorSummary) int { return cmp.Compare(b.Count, a.Count) })
	return gathered
}

func (r *run) effort() effort {
	e := effort{
		CPUNs: r.cpu, Wait: string(r.workers[0].policy), Threads: r.plan.Threads, OwnLateness: histogram{newHistogram()},
		ThrottledS: r.throttled.seconds(), RunDelayS: new(0.0), RunDelayShare: new(0.0),
	}
	for _, w := range r.workers {
		e.OwnLateness.Merge(w.recorder.own)
		e.Sent += w.recorder.now.sofar.sent
		e.CPUShare = max(e.CPUShare, w.usage.share())
		e.SendingNs += w.usage.busyTo - w.usage.busyFrom
		e.SendingSent += w.usage.sentTo - w.usage.sentFrom
		e.ScriptStarved += w.starved
		e.ScriptLost += w.untold
		e.Bytes += w.usage.bytesTo - w.usage.bytesFrom
		e.RunDelayS, e.RunDelayShare = e.waited(w.usage.runDelay())
	}
	return e
}

// unheard is the distribution of what is known of the requests of a kind that got no good answer: each was slower
// than any answer, at least the time from when it was meant to go to the end of the run, never less than the timeout.
func (f *findings) unheard(k *kindFindings) *hdr.Histogram {
	h, width := newHistogram(), (f.ToNs-f.FromNs)/failureBins
	for bin, count := range k.Unheard {
		least := f.EndNs - f.FromNs - int64(bin)*width
		record(h, max(least, f.TimeoutNs, f.SlowestNs), count)
	}
	return h
}

// conclude writes the results: the end of the log, the summary and, for one of several workers, its part.
func (r *run) conclude(o offers, c *collector, files *outputs) (*findings, *Summary, error) {
	found, err := r.findings(o, c)
	if err != nil {
		return nil, nil, err
	}
	if found.Generator.RequestsLost, err = files.closeRequests(); err != nil {
		return nil, nil, err
	}
	summary, err := found.summary()
	if err != nil {
		return nil, nil, err
	}
	if r.plan.Part != nil { // how slow the slowest answer was, only all workers know together
		err = writeJSON(filepath.Join(files.dir, partFile), found)
	} else {
		err = c.log.writeUnheard(found, max(c.start, found.FromNs), c.end)
	}
	if err == nil {
		err = files.finish(found, summary)
	}
	return found, summary, err
}

const (
	partSchema   = 2
	partFile     = "part.json"
	summaryFile  = "summary.json"
	logFile      = "latency.hlog"
	requestsFile = "requests.parquet"
)

// writeJSON puts a file into place, whole or not at all.
func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".part", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}
