package load

import (
	"errors"
	"fmt"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Histograms hold ns at 3 significant digits, from 1 us to 2 h.
const (
	lowest  = 1000
	highest = int64(2 * 3600 * 1e9)
)

func newHistogram() *hdr.Histogram { return hdr.New(lowest, highest, 3) }

func record(h *hdr.Histogram, ns, times int64) {
	if h.RecordValues(min(max(ns, 0), highest), times) != nil {
		panic("a latency outside of the histogram's range") // cannot be: it is clamped to it
	}
}

// interval holds what was recorded in about a second: latencies by operation, and the totals so far.
type interval struct {
	start, end int64
	intended   []*hdr.Histogram // one for each operation
	service    []*hdr.Histogram
	lateness   *hdr.Histogram
	warm       *hdr.Histogram // latencies of warm-up requests, only for those who watch
	sent       int64          // since the start, warm-up included, for those who watch
	completed  int64
	errors     int64
}

func newInterval(operations int) *interval {
	i := &interval{lateness: newHistogram(), warm: newHistogram()}
	for range operations {
		i.intended, i.service = append(i.intended, newHistogram()), append(i.service, newHistogram())
	}
	return i
}

func (i *interval) reset() {
	i.lateness.Reset()
	i.warm.Reset()
	for op := range i.intended {
		i.intended[op].Reset()
		i.service[op].Reset()
	}
}

// tally counts the measured requests of one operation. good is those completed within the SLO; all are those of
// the warm-up too, for whoever compares them with what the stores hold.
type tally struct {
	sent, completed, late, errors, timeouts, inFlight, good int64
	all                                                     All
}

func (t *tally) add(o tally) {
	t.sent += o.sent
	t.completed += o.completed
	t.late += o.late
	t.errors += o.errors
	t.timeouts += o.timeouts
	t.inFlight += o.inFlight
	t.good += o.good
	t.all.Sent += o.all.Sent
	t.all.Completed += o.all.Completed
}

const (
	batches     = 10
	slices      = 100
	failureBins = 1000
)

// failure is a kind of error, by operation.
type failure struct {
	cause error
	op    int32
}

type failureCount struct {
	count   int64
	example string
}

// statusError is a whole answer that says that the request failed.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("status %d", int(s)) }

// connectError is a failed attempt to connect for a request.
type connectError struct{ cause error }

func (c connectError) Error() string { return "connect: " + c.cause.Error() }

var errTimeout = errors.New("timeout")

// slice is a hundredth of the window.
type slice struct{ answers, latency int64 }

// recorder keeps what became of the requests of one thread. Only its thread writes to it.
type recorder struct {
	schedule  schedule
	timeout   int64
	limit     int64 // the SLO's latency, or the timeout
	now       *interval
	tallies   []tally
	slowest   int64                     // the longest latency of an answer, from the intended time
	unheard   [][failureBins]int64      // by operation and intended time: requests without a good answer
	answered  [batches]int64            // by the time of answering: requests that are settled, in whatever way
	completed [batches]int64            // ... and well
	series    [slices]slice             // by intended time: good answers, for a look at how the latency went
	own       *hdr.Histogram            // lateness that no busy connection explains
	failures  map[failure]*failureCount // errors by kind
	past      int64                     // violations that are certain so far
	free      chan *interval            // emptied intervals come back here
	full      chan *interval            // and go out here
}

func newRecorder(plan *Plan, s schedule) *recorder {
	operations := len(plan.Operations)
	r := &recorder{
		schedule: s, timeout: int64(seconds(plan.TimeoutS)), tallies: make([]tally, operations),
		unheard: make([][failureBins]int64, operations), failures: map[failure]*failureCount{},
		own: newHistogram(), now: newInterval(operations), free: make(chan *interval, 2), full: make(chan *interval, 16),
	}
	r.limit = r.timeout
	if plan.SLO != nil {
		r.limit = int64(plan.SLO.LatencyMs * 1e6)
	}
	r.free <- newInterval(operations)
	return r
}

// started notes that a request has gone out, which could have gone at the time `possible`.
func (r *recorder) started(c *connection, possible int64) {
	r.now.sent++
	r.tallies[c.op].all.Sent++
	if !c.measured {
		return
	}
	r.tallies[c.op].sent++
	record(r.now.lateness, c.sentAt-c.at, 1)
	record(r.own, c.sentAt-possible, 1)
	if c.overdue = c.sentAt-c.at > r.limit; c.overdue {
		r.past++
	}
}

// answeredWell notes a whole, good answer.
func (r *recorder) answeredWell(c *connection, at int64) {
	latency := at - c.at
	if latency <= r.timeout {
		r.now.completed++
	}
	r.tallies[c.op].all.Completed++ // a late answer is an answer: what it wrote is there
	if !c.measured {
		record(r.now.warm, latency, 1)
		return
	}
	t := &r.tallies[c.op]
	if latency <= r.timeout {
		t.completed++
	} else {
		t.late++
	}
	r.slowest = max(r.slowest, latency)
	record(r.now.intended[c.op], latency, 1)
	record(r.now.service[c.op], at-c.sentAt, 1)
	part := &r.series[(c.at-r.schedule.from)*slices/(r.schedule.to-r.schedule.from)]
	part.answers++
	part.latency += latency
	good := latency <= r.limit
	if good {
		t.good++
	}
	r.settle(c, good)
	if batch := r.batch(at); batch < batches {
		r.answered[batch]++
		if latency <= r.timeout {
			r.completed[batch]++
		}
	}
}

// failed notes a request that got no good answer, and why.
func (r *recorder) failed(c *connection, at int64, cause error, example []byte) {
	r.now.errors++
	if !c.measured {
		return
	}
	if cause == errTimeout {
		r.tallies[c.op].timeouts++
	} else {
		r.tallies[c.op].errors++
		kind := failure{cause, c.op}
		if r.failures[kind] == nil {
			r.failures[kind] = &failureCount{example: string(example)}
		}
		r.failures[kind].count++
	}
	r.unanswered(int(c.op), c.at)
	r.settle(c, false)
	if batch := r.batch(at); batch < batches {
		r.answered[batch]++
	}
}

// settle counts a violation that was not counted as overdue before, or takes back one that was not one: the
// answer had come in time but was read late.
func (r *recorder) settle(c *connection, good bool) {
	switch {
	case good && c.overdue:
		r.past--
	case !good && !c.overdue:
		r.past++
	}
}

// batch is the tenth of the window that a time lies in; batches or more after its end.
func (r *recorder) batch(at int64) int64 {
	return max(at-r.schedule.from, 0) * batches / (r.schedule.to - r.schedule.from)
}

// unanswered notes a request whose latency has only a lower bound, known when the run has ended.
func (r *recorder) unanswered(op int, at int64) {
	r.unheard[op][(at-r.schedule.from)*failureBins/(r.schedule.to-r.schedule.from)]++
}

// bound records every request without a good answer as slower than any answer: at least the time from when it
// was meant to go to the end of the run, never less than the timeout.
func (r *recorder) bound(end, slowest int64) {
	width := (r.schedule.to - r.schedule.from) / failureBins
	for op := range r.unheard {
		for bin, count := range r.unheard[op] {
			if count > 0 {
				least := end - r.schedule.from - int64(bin)*width
				record(r.now.intended[op], max(least, r.timeout, slowest), count)
			}
		}
	}
}

// turn sends the interval off and begins the next one.
func (r *recorder) turn(end int64) {
	full := r.now
	full.end = end
	select {
	case r.now = <-r.free:
	default:
		r.now = newInterval(len(r.tallies)) // the collector is slow: better an allocation than a wait
	}
	r.now.start, r.now.sent, r.now.completed, r.now.errors = end, full.sent, full.completed, full.errors
	r.full <- full
}
