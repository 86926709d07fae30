package load

import "loadstone.dev/stone/load/schedule"

import hdr "github.com/HdrHistogram/hdrhistogram-go"

// Histograms hold ns at 3 significant digits, from 1 us to 2 h.
const (
	lowest  = 1000
	highest = int64(2 * 3600 * 1e9)
)

func newHistogram() *hdr.Histogram { return hdr.New(lowest, highest, 3) }

// newRates makes a histogram of requests/s.
func newRates() *hdr.Histogram { return hdr.New(1, schedule.MostRate, 3) }

func record(h *hdr.Histogram, ns, times int64) {
	if h.RecordValues(min(max(ns, 0), highest), times) != nil {
		panic("a latency outside of the histogram's range") // cannot be: it is clamped to it
	}
}

// interval holds what was recorded in about a second: latencies by kind of request, and the totals so far.
type interval struct {
	start, end int64
	kinds      []latencies
	lateness   *hdr.Histogram
	warm       *hdr.Histogram // latencies of warm-up requests, only for those who watch
	sofar      progress
	busy       float64 // share of the time that the thread was busy; of several threads, of the busiest
}

// latencies of one kind of request, from the intended time and from the actual send, and how many failed.
type latencies struct {
	intended, service *hdr.Histogram
	failed            int64
}

// progress is what has happened since the start, warm-up included, for those who watch. What is answered has its
// outcome, in whatever way.
type progress struct{ offered, sent, answered, completed, errors int64 }

func newInterval(kinds int) *interval {
	i := &interval{lateness: newHistogram(), warm: newHistogram()}
	i.grow(kinds)
	return i
}

// grow makes room for that many kinds; a script's requests become known on the way.
func (i *interval) grow(kinds int) {
	for len(i.kinds) < kinds {
		i.kinds = append(i.kinds, latencies{newHistogram(), newHistogram(), 0})
	}
}

// of returns the latencies of one kind.
func (i *interval) of(op int32) *latencies {
	i.grow(int(op) + 1)
	return &i.kinds[op]
}

// merge adds the latencies of another interval; the warm-up's too.
func (i *interval) merge(other *interval) {
	i.sofar.offered += other.sofar.offered
	i.sofar.sent += other.sofar.sent
	i.sofar.answered += other.sofar.answered
	i.sofar.completed += other.sofar.completed
	i.sofar.errors += other.sofar.errors
	i.lateness.Merge(other.lateness)
	i.warm.Merge(other.warm)
	i.grow(len(other.kinds))
	for op, o := range other.kinds {
		i.kinds[op].intended.Merge(o.intended)
		i.kinds[op].service.Merge(o.service)
		i.kinds[op].failed += o.failed
	}
	i.busy = max(i.busy, other.busy)
}

func (i *interval) reset() {
	i.lateness.Reset()
	i.warm.Reset()
	for op := range i.kinds {
		i.kinds[op].intended.Reset()
		i.kinds[op].service.Reset()
		i.kinds[op].failed = 0
	}
	i.busy = 0
}
