// Package result is what a run found and what is written of it: histograms and their interval log (interval.go, hlog.go),
// the findings of one load worker (findings.go) and of several merged (merge.go, merge_log.go), the summary that is
// computed from them (summary.go, connections.go), texts for other tools (text.go) and lines of progress (progress.go).
package result

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Findings are everything that one worker found of its share of a plan. A summary is computed from one part; those of
// several workers are merged into one before (merge.go). part.json holds it.
type Findings struct {
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
	Counted     *Counted       `json:"counted,omitempty"`      // a closed loop that ends by its number of requests
	SlotsMissed *int64         `json:"slots_missed,omitempty"` // by paced clients of a closed loop
	Offered     int64          `json:"offered"`
	Kinds       []KindFindings `json:"kinds"`
	Lateness    Histogram      `json:"lateness"`
	Answers     int64          `json:"answers"`  // whole ones of any status that came within the window
	Rates       Histogram      `json:"rates"`    // rates of those answers, by each thread in each whole second
	LessOwn     Histogram      `json:"less_own"` // latency less the own delay, with an SLO only; see summary
	Batches     [Batches]Tenth `json:"batches"`
	Series      [Steps]Slice   `json:"series"`
	Errors      []ErrorSummary `json:"errors"`
	Connections Connections    `json:"connections"`
	Aborted     *Abort         `json:"aborted"`
	Generator   Effort         `json:"generator"`
	ahead       time.Duration  // what the worker's clock is known to be ahead
}

// KindFindings are what became of the requests of one kind.
type KindFindings struct {
	Name     string        `json:"name"`
	Counts   Counts        `json:"counts"`
	Good     int64         `json:"good"` // completed within the SLO
	Own      ByGenerator   `json:"own"`
	All      All           `json:"all"`
	Intended Histogram     `json:"intended"` // good answers alone
	Service  Histogram     `json:"service"`
	Unheard  map[int]int64 `json:"unheard"` // requests without a good answer, by thousandths of the window
}

// Tenth of the window: requests due in it, settled in it, completed in it, and settled in it if each came sooner by its
// own delay.
type Tenth struct {
	Offered   int64 `json:"offered"`
	Answered  int64 `json:"answered"`
	Completed int64 `json:"completed"`
	Relieved  int64 `json:"relieved"`
}

// Abort says when the run was stopped, from the start, and the violations until then; 0 if a signal stopped it.
type Abort struct {
	AtNs       int64 `json:"at_ns"`
	Violations int64 `json:"violations"`
}

// Effort is what a worker's process used.
type Effort struct {
	CPUNs         int64     `json:"cpu_ns"`
	CPUShare      float64   `json:"cpu_share"`
	SendingNs     int64     `json:"sending_ns"`   // CPU time of the load threads in the window
	SendingSent   int64     `json:"sending_sent"` // what they sent in it
	Sent          int64     `json:"sent"`         // warm-up included
	Wait          string    `json:"wait"`
	Threads       int       `json:"threads"`
	OwnLateness   Histogram `json:"own_lateness"`
	ScriptStarved int64     `json:"script_starved"`
	ScriptLost    int64     `json:"script_lost"`
	Bytes         int64     `json:"bytes"` // received in the window
	ThrottledS    *float64  `json:"throttled_s"`
	RunDelayS     *float64  `json:"run_delay_s"`
	RunDelayShare *float64  `json:"run_delay_share"`
	RequestsLost  *int64    `json:"requests_lost"`
}

// Histogram is written as in an interval log: V2, compressed, base64.
type Histogram struct{ *hdr.Histogram }

func (h Histogram) MarshalText() ([]byte, error) {
	return h.Encode(hdr.V2CompressedEncodingCookieBase)
}

func (h *Histogram) UnmarshalText(text []byte) (err error) {
	h.Histogram, err = hdr.Decode(text)
	return err
}

// within says whether there is a histogram, of values up to `most`.
func (h *Histogram) within(most int64) bool {
	return h.Histogram != nil && h.HighestTrackableValue() <= most
}

func (t *Tenth) Add(o Tenth) {
	t.Offered += o.Offered
	t.Answered += o.Answered
	t.Completed += o.Completed
	t.Relieved += o.Relieved
}

// Gather adds up what is of one kind and one operation; the most frequent come first.
func Gather(list []ErrorSummary) []ErrorSummary {
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

// unheard is the distribution of what is known of the requests of a kind that got no good answer: each was slower
// than any answer, at least the time from when it was meant to go to the end of the run, never less than the timeout.
func (f *Findings) unheard(k *KindFindings) *hdr.Histogram {
	h, width := NewHistogram(), (f.ToNs-f.FromNs)/FailureBins
	for bin, count := range k.Unheard {
		least := f.EndNs - f.FromNs - int64(bin)*width
		Record(h, max(least, f.TimeoutNs, f.SlowestNs), count)
	}
	return h
}

const (
	PartSchema   = 4
	PartFile     = "part.json"
	SummaryFile  = "summary.json"
	LogFile      = "latency.hlog"
	RequestsFile = "requests.parquet"
)

// WriteJSON puts a file into place, whole or not at all.
func WriteJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".part", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// Slice is a hundredth of the window.
type Slice struct {
	Answers   int64 `json:"answers"`
	LatencyNs int64 `json:"latency_ns"`
}

func (s *Slice) Add(o Slice) {
	s.Answers += o.Answers
	s.LatencyNs += o.LatencyNs
}

// The parts of the window that are distinguished.
const (
	Batches     = 10
	Steps       = 100
	FailureBins = 1000
)

// How the kinds of errors begin that are distinguished by class.
const (
	ConnectPrefix = "connect: "
	SkippedPrefix = "an earlier step failed: "
)

// SLO is the objective that violations are counted against.
type SLO struct {
	Percentile float64 `json:"percentile"`
	LatencyMs  float64 `json:"latency_ms"`
}

// Part is one worker's share of a plan that several carry out: every request n with n mod of = number.
type Part struct {
	Number int `json:"number"`
	Of     int `json:"of"`
}
