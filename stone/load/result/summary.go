package result

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/percentile"
)

// Summary is summary.json. All counts are of the requests whose intended time lies in the measured window.
type Summary struct {
	Schema            int                `json:"schema"`
	Started           string             `json:"started"`
	Plan              json.RawMessage    `json:"plan"`
	Loop              string             `json:"loop"`     // open, or closed
	Planned           int64              `json:"planned"`  // requests of the window; 0 for a closed loop without a number of them
	BeginsS           float64            `json:"begins_s"` // when the window begins, from the start
	WindowS           float64            `json:"window_s"`
	Counts            Counts             `json:"counts"`
	Violations        *int64             `json:"violations,omitempty"` // with an SLO only
	ByGenerator       ByGenerator        `json:"by_generator"`
	LessOwn           *LessOwn           `json:"less_own,omitempty"` // with an SLO only
	CompletedInWindow int64              `json:"completed_in_window"`
	OfferedRate       *float64           `json:"offered_rate,omitempty"` // left out of a closed loop
	Throughput        float64            `json:"throughput"`
	LatencyMs         map[string]Latency `json:"latency_ms"`
	Spectrum          [][3]float64       `json:"spectrum"`
	Operations        []OperationSummary `json:"operations"`
	Errors            []ErrorSummary     `json:"errors"`
	Connections       Connections        `json:"connections"`
	Batches           []Batch            `json:"batches"`
	Series            Series             `json:"series"`
	SlotsMissed       *int64             `json:"slots_missed,omitempty"` // with a pace only
	Iterations        *IterationsSummary `json:"iterations,omitempty"`   // set for a closed loop that ends by its number of requests
	Generator         Generator          `json:"generator"`
	Aborted           *Aborted           `json:"aborted"`
}

// Counts obeys offered = completed + late + errors + timeouts + unsent + in_flight = sent + unsent + skipped.
type Counts struct {
	Offered   int64 `json:"offered"`
	Sent      int64 `json:"sent"`
	Completed int64 `json:"completed"`
	Late      int64 `json:"late"`
	Errors    int64 `json:"errors"`
	Timeouts  int64 `json:"timeouts"`
	Unsent    int64 `json:"unsent"`
	InFlight  int64 `json:"in_flight"`
	Skipped   int64 `json:"skipped"`   // errors that were never sent: an earlier step of the session failed
	Abandoned int64 `json:"abandoned"` // unsent, since their timeout had passed before they could be sent
}

// LessOwn is what a verdict looks at besides counts, as it would be without what the generator alone caused: each latency
// less the own delay, 0 for what it neglected to send, and the backlog at the end of each batch.
type LessOwn struct {
	LatencyMs Latency      `json:"latency_ms"`
	Spectrum  [][2]float64 `json:"spectrum"`
	Backlog   []int64      `json:"backlog"`
}

// Latency of one kind, in ms. Those from the intended time are of every request: Answered of them got a good answer, of
// which the mean is, and percentiles beyond these are lower bounds.
type Latency struct {
	Count    int64   `json:"count"`
	Mean     float64 `json:"mean"`
	P50      float64 `json:"p50"`
	P75      float64 `json:"p75"`
	P90      float64 `json:"p90"`
	P95      float64 `json:"p95"`
	P99      float64 `json:"p99"`
	P999     float64 `json:"p999"`
	Max      float64 `json:"max"`
	Answered int64   `json:"answered,omitempty"`
}

// OperationSummary is the part of one operation.
type OperationSummary struct {
	Name       string             `json:"name"`
	Counts     Counts             `json:"counts"`
	Violations *int64             `json:"violations,omitempty"`
	By         ByGenerator        `json:"by_generator"`
	LatencyMs  map[string]Latency `json:"latency_ms"`
	All        All                `json:"all"`
}

// All counts every request of an operation, of the warm-up too: sent, and answered well at whatever time.
type All struct {
	Sent      int64 `json:"sent"`
	Completed int64 `json:"completed"`
}

// ErrorSummary is one kind of error of one operation.
type ErrorSummary struct {
	Kind      string `json:"kind"`
	Operation string `json:"operation"`
	Count     int64  `json:"count"`
	Example   string `json:"example"`
}

// Batch is a tenth of the window: requests scheduled in it, good answers that came in it, and how many
// scheduled requests had no outcome at its end. A closed loop that ends by its number of requests has none.
type Batch struct {
	StartS    float64 `json:"start_s"`
	Offered   int64   `json:"offered"`
	Completed int64   `json:"completed"`
	Backlog   int64   `json:"backlog"`
}

// Series is how the latency went: the mean, from the intended time, of the good answers to what was scheduled in
// each step of the window, null where there were none. The steps of a closed loop that ends by its number of requests
// are hundredths of each client's requests.
type Series struct {
	StepS  float64    `json:"step_s"`
	MeanMs []*float64 `json:"mean_ms"`
}

// Generator is what the generator itself used: CPU of the process from the first to the last request, and the
// share of its time in the window that the busiest load thread was busy or, where other threads work for its requests and
// that is more, the process on all of its CPUs.
type Generator struct {
	CPUS            float64         `json:"cpu_s"`
	WallS           float64         `json:"wall_s"`
	CPUUsPerRequest float64         `json:"cpu_us_per_request"`
	SendingUs       float64         `json:"sending_us_per_request"` // CPU time of the load threads alone
	CPUShare        float64         `json:"cpu_share"`
	Wait            string          `json:"wait"`
	Threads         int             `json:"threads"`
	OwnLatenessP99  float64         `json:"own_lateness_p99_ms"`     // after a connection was free, too
	OwnLatenessSLO  *float64        `json:"own_lateness_slo_ms"`     // at the SLO's percentile, null without one
	RunDelayS       *float64        `json:"run_delay_s"`             // that load threads could run and got no CPU, in the window; null: the kernel does not tell
	RunDelayShare   *float64        `json:"run_delay_share"`         // share of the window; the thread that waited longest
	ScriptStarved   int64           `json:"script_starved"`          // requests that were due before they were made
	ScriptLost      int64           `json:"script_lost"`             // answers that a script's response() never saw
	RequestsLost    *int64          `json:"requests_lost,omitempty"` // records that requests.parquet lacks, where there is one
	Throttled       *float64        `json:"throttled_s"`             // by the own cgroup's CPU limit, of all its threads together; absent where it cannot be known
	Workers         []WorkerSummary `json:"workers,omitempty"`       // if there were several load workers
}

// Aborted says when, in seconds from the start of the window, and why a run was stopped early.
type Aborted struct {
	AtS    float64 `json:"at_s"`
	Reason string  `json:"reason"`
}

func Summarize(h *hdr.Histogram) Latency {
	at := InMs(h, 50, 75, 90, 95, 99, 99.9)
	l := Latency{h.TotalCount(), h.Mean() / 1e6, at[0], at[1], at[2], at[3], at[4], at[5], float64(h.Max()) / 1e6, 0}
	if l.Count == 0 {
		l.Max = 0 // not the width of the first bucket
	}
	return l
}

// summarizeAll is of all requests, of which only answers have a known latency.
func summarizeAll(all, answers *hdr.Histogram) Latency {
	l := Summarize(all)
	l.Mean, l.Answered = answers.Mean()/1e6, answers.TotalCount()
	return l
}

// InMs returns values at percentiles, in one pass.
func InMs(h *hdr.Histogram, percentiles ...float64) []float64 {
	values := make([]float64, len(percentiles))
	for i, ns := range percentile.OfEach(h, percentiles...) {
		values[i] = float64(ns) / 1e6
	}
	return values
}

// spectrum is the distribution at percentiles from 0 to 99.999: evenly spaced in the number of nines, and at those that
// people name (each percent, each tenth above 99, each hundredth above 99.9, each thousandth above 99.99).
func spectrum(intended, service *hdr.Histogram) [][3]float64 {
	var percentiles []float64
	for i := range 101 {
		percentiles = append(percentiles, math.Round(1e8*(1-math.Pow(10, -float64(i)/20)))/1e6, float64(min(i, 99)))
	}
	for _, step := range []float64{10, 100, 1000} { // a division, unlike a product, gives the float nearest to the decimal
		for i := range 9 {
			percentiles = append(percentiles, (100*step-1-float64(i))/step)
		}
	}
	slices.Sort(percentiles)
	percentiles = slices.Compact(percentiles)
	points, ofIntended, ofService := [][3]float64{}, InMs(intended, percentiles...), InMs(service, percentiles...)
	for i, p := range percentiles {
		points = append(points, [3]float64{p, ofIntended[i], ofService[i]})
	}
	return points
}

// Summary computes what follows from a part; it fails if the accounting identity does not hold.
func (f *Findings) Summary() (*Summary, error) {
	s := &Summary{
		Schema: 1, Started: f.Started.Format(time.RFC3339Nano), Plan: f.Plan, Loop: f.Loop, Planned: f.Planned,
		BeginsS: f.begins(), WindowS: f.window(), SlotsMissed: f.SlotsMissed, Iterations: f.Counted.summary(), Errors: f.Errors, Connections: f.Connections, Operations: []OperationSummary{}, Generator: f.Generator.summary(f.EndNs, f.SLO),
	}
	intended, answers, service := NewHistogram(), NewHistogram(), NewHistogram()
	good := int64(0)
	for i := range f.Kinds {
		k := &f.Kinds[i]
		latencies := f.unheard(k)
		latencies.Merge(k.Intended.Histogram)
		operation := OperationSummary{Name: k.Name, Counts: k.Counts, By: k.Own, All: k.All, LatencyMs: map[string]Latency{
			"intended": summarizeAll(latencies, k.Intended.Histogram), "service": Summarize(k.Service.Histogram),
		}}
		if f.SLO == nil {
			operation.By.Violations = 0
		} else {
			operation.Violations = new(k.Counts.Offered - k.Good)
		}
		s.Operations = append(s.Operations, operation)
		s.Counts.Add(k.Counts)
		s.ByGenerator.Add(operation.By)
		good += k.Good
		intended.Merge(latencies)
		answers.Merge(k.Intended.Histogram)
		service.Merge(k.Service.Histogram)
	}
	if err := s.Counts.check(f.Offered, intended.TotalCount()); err != nil {
		return nil, err
	}
	if f.SLO != nil {
		s.Violations = new(s.Counts.Offered - good)
		s.LessOwn = f.lessOwn()
	}
	s.LatencyMs = map[string]Latency{
		"intended": summarizeAll(intended, answers), "service": Summarize(service), "lateness": Summarize(f.Lateness.Histogram),
	}
	s.Spectrum = spectrum(intended, service)
	s.Batches, s.CompletedInWindow = f.batches()
	s.Series = f.series()
	s.Aborted = f.aborted()
	ran := s.WindowS
	if s.Aborted != nil {
		ran = max(s.Aborted.AtS, 0)
	}
	if ran > 0 {
		s.Throughput = float64(s.CompletedInWindow) / ran
	}
	if s.Loop == "open" && ran > 0 {
		s.OfferedRate = new(float64(s.Counts.Offered) / ran)
	}
	return s, nil
}

// check verifies the accounting identity: every request that was offered has one outcome and one latency.
func (c *Counts) check(offered, latencies int64) error {
	if c.Offered != offered || c.Sent+c.Unsent+c.Skipped != offered || latencies != offered {
		return fmt.Errorf("accounting: offered %d, sent %d, unsent %d, skipped %d, outcomes %d, latencies %d: requests were lost or "+
			"counted twice; this is a defect of stone", offered, c.Sent, c.Unsent, c.Skipped, c.Offered, latencies)
	}
	return nil
}

func (c *Counts) Add(o Counts) {
	c.Offered += o.Offered
	c.Sent += o.Sent
	c.Completed += o.Completed
	c.Late += o.Late
	c.Errors += o.Errors
	c.Timeouts += o.Timeouts
	c.Unsent += o.Unsent
	c.InFlight += o.InFlight
	c.Skipped += o.Skipped
	c.Abandoned += o.Abandoned
}

func (f *Findings) batches() (list []Batch, completed int64) {
	backlog := int64(0)
	for i, b := range f.Batches {
		backlog += b.Offered - b.Answered
		completed += b.Completed
		list = append(list, Batch{float64(i) * f.WindowS / Batches, b.Offered, b.Completed, backlog})
	}
	if f.Counted != nil { // its length was not known when the tenths were counted
		list = []Batch{}
	}
	return list, completed
}

// lessOwn completes the latencies less the own delay by requests without an answer, which are slower than any answer.
func (f *Findings) lessOwn() *LessOwn {
	h := NewHistogram()
	h.Merge(f.LessOwn.Histogram)
	Record(h, max(f.TimeoutNs, f.SlowestNs), f.Offered-h.TotalCount())
	l := &LessOwn{LatencyMs: Summarize(h)}
	for _, point := range spectrum(h, h) {
		l.Spectrum = append(l.Spectrum, [2]float64(point[:2]))
	}
	backlog := int64(0)
	for _, b := range f.Batches {
		backlog += b.Offered - b.Relieved
		l.Backlog = append(l.Backlog, backlog)
	}
	if f.Counted != nil {
		l.Backlog = []int64{}
	}
	return l
}

func (f *Findings) series() Series {
	s := Series{f.window() / Steps, make([]*float64, Steps)}
	for i, sum := range f.Series {
		if sum.Answers > 0 {
			s.MeanMs[i] = new(float64(sum.LatencyNs) / float64(sum.Answers) / 1e6)
		}
	}
	return s
}

func (e *Effort) summary(end int64, slo *SLO) Generator {
	g := Generator{
		CPUS: float64(e.CPUNs) / 1e9, WallS: float64(end) / 1e9, CPUShare: e.CPUShare, Wait: e.Wait, Threads: e.Threads,
		OwnLatenessP99: float64(percentile.Of(e.OwnLateness.Histogram, 99)) / 1e6, ScriptStarved: e.ScriptStarved, ScriptLost: e.ScriptLost,
		Throttled: e.ThrottledS, RequestsLost: e.RequestsLost, RunDelayS: e.RunDelayS, RunDelayShare: e.RunDelayShare,
	}
	if slo != nil {
		g.OwnLatenessSLO = new(float64(percentile.Of(e.OwnLateness.Histogram, slo.Percentile)) / 1e6)
	}
	if e.Sent > 0 {
		g.CPUUsPerRequest = float64(e.CPUNs) / 1e3 / float64(e.Sent)
	}
	if e.SendingSent > 0 {
		g.SendingUs = float64(e.SendingNs) / 1e3 / float64(e.SendingSent)
	}
	return g
}

func (f *Findings) aborted() *Aborted {
	if f.Aborted == nil {
		return nil
	}
	at := float64(f.Aborted.AtNs-f.FromNs) / 1e9
	if f.Aborted.Violations == 0 {
		return &Aborted{at, "a signal ended it"}
	}
	return &Aborted{at, fmt.Sprintf("violations %d of %d planned exceed %.4g %%", f.Aborted.Violations, f.Planned, 100-f.SLO.Percentile)}
}

// ByGenerator counts what the generator alone caused: requests that violate the SLO, the parts of those late and unsent,
// and of the unsent those that it neglected: load that was not offered.
type ByGenerator struct {
	Violations int64 `json:"violations"`
	Late       int64 `json:"late"`
	Unsent     int64 `json:"unsent"`
	Neglected  int64 `json:"neglected"` // a connection was free
}

func (b *ByGenerator) Add(o ByGenerator) {
	b.Violations += o.Violations
	b.Late += o.Late
	b.Unsent += o.Unsent
	b.Neglected += o.Neglected
}
