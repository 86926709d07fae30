package load

import "sync/atomic"

// control is what the threads of a run have in common.
type control struct {
	stop      atomic.Bool  // interrupted: leave at once
	aborted   atomic.Int64 // when a thread found that the SLO cannot be held, or a signal came; 0 if neither
	allowed   int64        // violations that the SLO allows, -1: no early abort
	certain   []counter    // violations so far, by thread
	violation atomic.Int64 // their sum at the abort
	open      func()       // a counted loop: its first counted request goes out
}

// counter is on a cache line of its own: each thread writes one.
type counter struct {
	atomic.Int64
	_ [56]byte
}

// deadline is when something must be checked even if nothing happens.
func (t *loadThread) deadline() int64 {
	next := min(t.boundary, t.drained)
	if first := t.inFlight.first; first != nil {
		next = min(next, first.sentAt+t.timeout)
	}
	if t.control.allowed >= 0 {
		next = min(next, t.checked+checkEvery)
	}
	return next
}

// check looks at all limits. Everything that had arrived by `now` has been read.
func (t *loadThread) check(now int64) {
	t.checked = now
	t.wall = t.clock.wall()
	before := t.polled.idle
	idle := t.polled.cpu(now)
	t.usage.process.polled(idle - before)
	t.usage.watch(now, t.schedule, idle, t.recorder)
	t.expire(now)
	if t.control.allowed >= 0 {
		t.checkSLO(now)
	}
	if now >= t.boundary {
		for t.boundary <= now {
			t.boundary += intervalLength
		}
		if now < t.schedule.To { // one ends with the window, for those who read counters then
			t.boundary = min(t.boundary, t.schedule.To)
		}
		t.recorder.turn(now, t.usage.since(now, idle))
	}
}

// expire gives up on requests that were sent a timeout ago.
func (t *loadThread) expire(now int64) {
	for x := t.inFlight.first; x != nil && now-x.sentAt >= t.timeout; x = t.inFlight.first {
		c := x.on
		if c.state == connecting { // a fresh socket is quicker than the kernel's own next attempt
			t.pool.tally.failed(errConnectTimeout)
			t.failAll(c, connectError{errConnectTimeout}, connectError{errConnectTimeout})
		} else {
			t.failAll(c, errTimeout, errCollateral)
		}
		t.renew(c, false) // the timeout was rest enough
	}
}

// checkSLO counts what can no longer be good, whatever the generator's part in it, and stops the run once that is more
// than the SLO allows.
func (t *loadThread) checkSLO(now int64) {
	r := t.recorder
	for ; t.oldestInTime != nil && now-t.oldestInTime.at-t.granted(t.oldestInTime) > r.limit; t.oldestInTime = t.oldestInTime.later {
		if t.oldestInTime.measured && !t.oldestInTime.overdue {
			t.oldestInTime.overdue = true
			r.past++
		}
	}
	unsent := int64(0)
	if t.blocked { // else whatever is due goes out with the next look, or is not made yet
		unsent = max(t.overdue.Until(now-r.limit-r.debt.ns)-t.taken, 0)
	}
	t.control.certain[t.thread].Store(r.past + unsent)
	if total := t.control.sum(); total > t.control.allowed {
		t.control.abort(now, total)
	}
}
