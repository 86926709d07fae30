package load

import (
	"errors"
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/result"
	"loadstone.dev/stone/load/schedule"
)

// tally counts the measured requests of one kind. good is those completed within the SLO; all are those of the
// warm-up too, for comparison with the stores' contents.
type tally struct {
	sent, completed, late, errors, timeouts, inFlight, good int64

	offered   int64 // what no schedule knows beforehand: the later steps of sessions, the requests of clients
	skipped   int64 // errors that were never sent: an earlier step of their session failed
	unsent    int64 // due or soon due when the run ended, or abandoned
	abandoned int64 // unsent, since its timeout had passed before it could be sent
	own       result.ByGenerator
	all       result.All
}

func (t *tally) add(o tally) {
	t.sent += o.sent
	t.completed += o.completed
	t.late += o.late
	t.errors += o.errors
	t.timeouts += o.timeouts
	t.inFlight += o.inFlight
	t.good += o.good
	t.offered += o.offered
	t.skipped += o.skipped
	t.unsent += o.unsent
	t.abandoned += o.abandoned
	t.own.Add(o.own)
	t.all.Sent += o.all.Sent
	t.all.Completed += o.all.Completed
}

// failure is a kind of error, by kind of request.
type failure struct {
	cause error
	op    int32
}

type failureCount struct {
	count   int64
	example string
}

// connectError is a failed attempt to connect for a request.
type connectError struct{ cause error }

func (c connectError) Error() string { return result.ConnectPrefix + c.cause.Error() }

// skippedError is a step that was never sent, since an earlier one of its session failed.
type skippedError struct{ cause error }

func (s skippedError) Error() string { return result.SkippedPrefix + s.cause.Error() }

var (
	errTimeout    = errors.New("timeout")
	errCollateral = errors.New("connection given up: an earlier request on it timed out")

	errConnectTimeout = errors.New("timed out")
)

// recorder keeps what became of the requests of one thread. Only its thread writes to it.
type recorder struct {
	schedule  schedule.Schedule
	timeout   int64
	limit     int64 // the SLO's latency, or the timeout
	now       *result.Interval
	tallies   []tally
	slowest   int64                        // the longest latency of an answer, from the intended time
	unheard   []*[result.FailureBins]int64 // by kind and intended time: requests without a good answer
	offered   [result.Batches]int64        // by intended time: see tally.offered
	answered  [result.Batches]int64        // by the time of answering: requests that are settled, in whatever way
	completed [result.Batches]int64        // ... and well
	whole     int64                        // answers of any status that came within the window
	perSecond []int64                      // ... the same for each whole second of it
	series    [result.Steps]result.Slice   // by intended time: good answers, for a look at how the latency went
	own       *hdr.Histogram               // lateness that no busy connection explains
	lessOwn   *hdr.Histogram               // latency less the own delay; nil without an SLO
	relieved  [result.Batches]int64        // as answered, by when they would have been without their own delay
	debt      debt
	failures  map[failure]*failureCount // errors by kind
	past      int64                     // violations that are certain so far
	missed    int64                     // slots of paced clients
	counted   *result.Counted           // set for a closed loop that ends by its number of requests; else nil
	bytes     int64                     // received, of everything
	log       *requestLog               // a record of each request, nil: none
	free      chan *result.Interval     // emptied intervals come back here
	full      chan *result.Interval     // and go out here
}

func newRecorder(plan *Plan, s schedule.Schedule, kinds int) *recorder {
	r := &recorder{
		schedule: s, timeout: int64(schedule.Seconds(plan.TimeoutS)), failures: map[failure]*failureCount{},
		perSecond: make([]int64, (s.To-s.From)/1e9), own: result.NewHistogram(), now: result.NewInterval(kinds), free: make(chan *result.Interval, 2), full: make(chan *result.Interval, 16),
	}
	r.limit = r.timeout
	if plan.counted() {
		r.counted = &result.Counted{FromNs: math.MaxInt64}
	}
	if plan.SLO != nil {
		r.limit = int64(plan.SLO.LatencyMs * 1e6)
		r.lessOwn = result.NewHistogram()
	}
	r.grow(kinds)
	r.free <- result.NewInterval(kinds)
	return r
}

// grow makes room for that many kinds of requests.
func (r *recorder) grow(kinds int) {
	for len(r.tallies) < kinds {
		r.tallies, r.unheard = append(r.tallies, tally{}), append(r.unheard, new([result.FailureBins]int64))
	}
}

// due notes a request that no schedule knew beforehand.
func (r *recorder) due(op int32, at int64, measured bool) {
	r.now.Totals.Offered++
	if !measured {
		return
	}
	r.grow(int(op) + 1)
	r.tallies[op].offered++
	r.offered[min(r.batch(at), result.Batches-1)]++
}

// started notes that a request has gone out, with its own lateness and its own delay.
func (r *recorder) started(x *exchange, lateness, delay int64) {
	r.grow(int(x.op) + 1)
	x.delay = r.debt.incur(delay)
	r.now.Totals.Sent++
	r.tallies[x.op].all.Sent++
	if !x.measured {
		return
	}
	if r.counted != nil {
		r.counted.FromNs = min(r.counted.FromNs, x.at)
	}
	r.tallies[x.op].sent++
	result.Record(r.now.Lateness, x.sentAt-x.at, 1)
	result.Record(r.own, lateness, 1)
	if x.overdue = x.sentAt-x.at-x.delay > r.limit; x.overdue {
		r.past++
	}
}

// answeredWell notes a whole, good answer.
func (r *recorder) answeredWell(x *exchange, at int64) {
	latency := at - x.at
	if latency <= r.limit {
		r.debt.met(x.at)
	}
	r.concluded(x)
	if latency <= r.timeout {
		r.now.Totals.Completed++
	}
	r.tallies[x.op].all.Completed++ // a late answer is an answer: what it wrote is there
	if !x.measured {
		result.Record(r.now.Warm, latency, 1)
		return
	}
	t := &r.tallies[x.op]
	if latency <= r.timeout {
		t.completed++
	} else {
		t.late++
		if explains(x.delay, latency, r.timeout) {
			t.own.Late++
		}
	}
	r.slowest = max(r.slowest, latency)
	kind := r.now.Of(x.op)
	result.Record(kind.Intended, latency, 1)
	result.Record(kind.Service, at-x.sentAt, 1)
	r.series[r.step(x)].Add(result.Slice{Answers: 1, LatencyNs: latency})
	if latency <= r.limit {
		t.good++
	}
	r.settle(x, latency <= r.limit || r.excused(x, latency))
	r.unburdened(latency - x.delay)
	r.log.add(x, at, outcomeOf(latency <= r.timeout))
	r.settled(at, x)
	r.came(at)
	if batch := r.batch(at); batch < result.Batches && latency <= r.timeout {
		r.completed[batch]++
	}
}

// came notes a whole answer of any status.
func (r *recorder) came(at int64) {
	if r.batch(at) >= result.Batches {
		return
	}
	r.whole++
	if second := max(at-r.schedule.From, 0) / 1e9; second < int64(len(r.perSecond)) {
		r.perSecond[second]++
	}
}

// concluded notes for those who watch that a request has its outcome.
func (r *recorder) concluded(x *exchange) {
	r.now.Totals.Answered++
	if x.at >= r.schedule.From {
		r.now.Totals.Counted++
	}
}

// rates adds up how many answers came in each whole second of the window until the run ended.
func (r *recorder) rates(to *hdr.Histogram, end int64) {
	for second, answers := range r.perSecond {
		if r.schedule.From+int64(second+1)*1e9 <= end {
			_ = to.RecordValue(min(answers, schedule.MostRate))
		}
	}
}

// failed notes a request that got no good answer, and why.
func (r *recorder) failed(x *exchange, at int64, cause error, example []byte) {
	r.concluded(x)
	r.now.Totals.Errors++
	r.now.Of(x.op).Failed++
	if !x.measured {
		return
	}
	outcome := "error"
	if cause == errTimeout {
		outcome = "timeout"
		r.tallies[x.op].timeouts++
	} else {
		r.tallies[x.op].errors++
		r.blame(cause, x.op, example)
	}
	r.log.add(x, at, outcome)
	if x.status != 0 {
		r.came(at)
	}
	r.unanswered(x.op, x.at)
	excused := cause == errTimeout && r.excused(x, at-x.at) // an error is none of the generator's, however late
	if excused {
		r.unburdened(at - x.at - x.delay)
	}
	r.settle(x, excused)
	r.settled(at, x)
}

// skipped notes a step that will never be sent, since one before it failed.
func (r *recorder) skipped(n uint64, op int32, at int64, cause error) {
	r.grow(int(op) + 1)
	r.log.never(n, op, at, "skipped")
	r.tallies[op].errors++
	r.tallies[op].skipped++
	r.blame(skippedError{cause}, op, nil)
	r.unanswered(op, at)
	r.past++
	r.settled(at, &exchange{at: at})
}

// settled notes when a request was, and when it would have been without its own delay.
func (r *recorder) settled(at int64, x *exchange) {
	if batch := r.batch(at); batch < result.Batches {
		r.answered[batch]++
	}
	r.relieve(max(at-x.delay, x.at))
}

func (r *recorder) relieve(at int64) {
	if batch := r.batch(at); batch < result.Batches {
		r.relieved[batch]++
	}
}

func (r *recorder) blame(cause error, op int32, example []byte) {
	kind := failure{cause, op}
	if r.failures[kind] == nil {
		r.failures[kind] = &failureCount{example: string(example)}
	}
	r.failures[kind].count++
}

// settle counts a violation that was not counted as overdue before, or takes back one that counts for nothing: the
// answer had come in time but was read late, or the generator alone is to blame.
func (r *recorder) settle(x *exchange, pardoned bool) {
	switch {
	case pardoned && x.overdue:
		r.past--
	case !pardoned && !x.overdue:
		r.past++
	}
}

// excused says whether the generator alone made a request wait longer than the limit, and counts it then.
func (r *recorder) excused(x *exchange, waited int64) bool {
	if !explains(x.delay, waited, r.limit) {
		return false
	}
	r.tallies[x.op].own.Violations++
	return true
}

// unburdened records what a latency is without the own delay.
func (r *recorder) unburdened(ns int64) {
	if r.lessOwn != nil {
		result.Record(r.lessOwn, ns, 1)
	}
}

// part is which of n equal parts of the window a time lies in; the last one for what comes after it.
func (r *recorder) part(at, n int64) int64 {
	return min(max(at-r.schedule.From, 0)*n/(r.schedule.To-r.schedule.From), n-1)
}

// batch is the tenth of the window that a time lies in; batches or more after its end.
func (r *recorder) batch(at int64) int64 {
	return max(at-r.schedule.From, 0) * result.Batches / (r.schedule.To - r.schedule.From)
}

// underWay notes a request that was sent and not answered when the run ended.
func (r *recorder) underWay(x *exchange, end int64) {
	r.tallies[x.op].inFlight++
	if r.excused(x, end-x.at) {
		r.unburdened(end - x.at - x.delay)
	}
	r.unanswered(x.op, x.at)
	r.log.add(x, never, "in_flight")
}

// unsent notes a request that was due, or would have been soon, when the run ended, and what of that is the generator's fault.
func (r *recorder) unsent(n uint64, op int32, at int64, by result.ByGenerator) {
	r.grow(int(op) + 1)
	r.log.never(n, op, at, "unsent")
	r.tallies[op].unsent++
	r.charge(op, at, by)
	r.unanswered(op, at)
}

// charge notes what the generator alone caused of an unsent request; returns whether it caused that it is a violation.
func (r *recorder) charge(op int32, at int64, by result.ByGenerator) bool {
	if by.Violations == 0 {
		return false
	}
	r.tallies[op].own.Add(by)
	r.unburdened(0)
	r.relieve(at)
	return true
}

// abandoned notes a request that was not sent, since its timeout had passed before it could be.
func (r *recorder) abandoned(n uint64, op int32, at, now int64, by result.ByGenerator) {
	r.grow(int(op) + 1)
	r.log.never(n, op, at, "abandoned")
	r.tallies[op].unsent++
	r.tallies[op].abandoned++
	r.unanswered(op, at)
	if batch := r.batch(now); batch < result.Batches {
		r.answered[batch]++
	}
	if !r.charge(op, at, by) {
		r.past++
		r.relieve(now)
	}
}

// unanswered notes a request whose latency has only a lower bound, known when the run has ended.
func (r *recorder) unanswered(op int32, at int64) {
	bin := r.part(at, result.FailureBins)
	if r.counted != nil { // how long it took is not known before the end: what failed was slower than any answer
		bin = result.FailureBins - 1
	}
	r.unheard[op][bin]++
}

// turn sends the interval off, with the share of it that the thread was busy, and begins the next one.
func (r *recorder) turn(end int64, busy float64) {
	full := r.now
	full.End, full.Busy = end, busy
	select {
	case r.now = <-r.free:
	default:
		r.now = result.NewInterval(len(r.tallies)) // the collector is slow: better an allocation than a wait
	}
	r.now.Start, r.now.Totals = end, full.Totals
	r.full <- full
}
