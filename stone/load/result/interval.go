package result

import (
	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/schedule"
)

// Histograms hold ns at 3 significant digits, from 1 us to 2 h.
const (
	lowest  = 1000
	highest = int64(2 * 3600 * 1e9)
)

func NewHistogram() *hdr.Histogram { return hdr.New(lowest, highest, 3) }

// NewRates makes a histogram of requests/s.
func NewRates() *hdr.Histogram { return hdr.New(1, schedule.MostRate, 3) }

func Record(h *hdr.Histogram, ns, times int64) {
	if h.RecordValues(min(max(ns, 0), highest), times) != nil {
		panic("a latency outside of the histogram's range") // cannot be: it is clamped to it
	}
}

// Interval holds what was recorded in about a second: latencies by kind of request, and the totals so far.
type Interval struct {
	Start, End int64
	Kinds      []latencies
	Lateness   *hdr.Histogram
	Warm       *hdr.Histogram // latencies of warm-up requests, only for those who watch
	Totals     Totals
	Busy       float64 // share of the time that the thread was busy; of several threads, of the busiest
}

// latencies of one kind of request, from the intended time and from the actual send, and how many failed.
type latencies struct {
	Intended, Service *hdr.Histogram
	Failed            int64
}

// Totals is what has happened since the start, warm-up included, for those who watch. What is answered has its
// outcome, in whatever way; what is counted is what such a closed loop ends by, its warm-up included.
type Totals struct{ Offered, Sent, Answered, Completed, Errors, Counted int64 }

func NewInterval(kinds int) *Interval {
	i := &Interval{Lateness: NewHistogram(), Warm: NewHistogram()}
	i.grow(kinds)
	return i
}

// grow makes room for that many kinds; a script's requests become known on the way.
func (i *Interval) grow(kinds int) {
	for len(i.Kinds) < kinds {
		i.Kinds = append(i.Kinds, latencies{NewHistogram(), NewHistogram(), 0})
	}
}

// Of returns the latencies of one kind.
func (i *Interval) Of(op int32) *latencies {
	i.grow(int(op) + 1)
	return &i.Kinds[op]
}

// Merge adds the latencies of another interval; the warm-up's too.
func (i *Interval) Merge(other *Interval) {
	i.Totals.Offered += other.Totals.Offered
	i.Totals.Sent += other.Totals.Sent
	i.Totals.Answered += other.Totals.Answered
	i.Totals.Completed += other.Totals.Completed
	i.Totals.Errors += other.Totals.Errors
	i.Totals.Counted += other.Totals.Counted
	i.Lateness.Merge(other.Lateness)
	i.Warm.Merge(other.Warm)
	i.grow(len(other.Kinds))
	for op, o := range other.Kinds {
		i.Kinds[op].Intended.Merge(o.Intended)
		i.Kinds[op].Service.Merge(o.Service)
		i.Kinds[op].Failed += o.Failed
	}
	i.Busy = max(i.Busy, other.Busy)
}

func (i *Interval) Reset() {
	i.Lateness.Reset()
	i.Warm.Reset()
	for op := range i.Kinds {
		i.Kinds[op].Intended.Reset()
		i.Kinds[op].Service.Reset()
		i.Kinds[op].Failed = 0
	}
	i.Busy = 0
}
