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
func (w *worker) deadline() int64 {
	next := min(w.boundary, w.drained)
	if first := w.inFlight.first; first != nil {
		next = min(next, first.sentAt+w.timeout)
	}
	if w.control.allowed >= 0 {
		next = min(next, w.checked+checkEvery)
	}
	return next
}

// check looks at all limits. Everything that had arrived by `now` has been read.
func (w *worker) check(now int64) {
	w.checked = now
	w.wall = w.clock.wall()
	idle := w.polled.cpu(now)
	w.usage.watch(now, w.schedule, idle, w.recorder)
	w.expire(now)
	if w.control.allowed >= 0 {
		w.checkSLO(now)
	}
	if now >= w.boundary {
		for w.boundary <= now {
			w.boundary += intervalLength
		}
		if now < w.schedule.To { // one ends with the window, for those who read counters then
			w.boundary = min(w.boundary, w.schedule.To)
		}
		w.recorder.turn(now, w.usage.since(now, idle))
	}
}

// expire gives up on requests that were sent a timeout ago.
func (w *worker) expire(now int64) {
	for x := w.inFlight.first; x != nil && now-x.sentAt >= w.timeout; x = w.inFlight.first {
		c := x.on
		if c.state == connecting { // a fresh socket is quicker than the kernel's own next attempt
			w.pool.tally.failed(errConnectTimeout)
			w.failAll(c, connectError{errConnectTimeout}, connectError{errConnectTimeout})
		} else {
			w.failAll(c, errTimeout, errCollateral)
		}
		w.renew(c, false) // the timeout was rest enough
	}
}

// checkSLO counts what can no longer be good, whatever the generator's part in it, and stops the run once that is more
// than the SLO allows.
func (w *worker) checkSLO(now int64) {
	r := w.recorder
	for ; w.oldestInTime != nil && now-w.oldestInTime.at-w.granted(w.oldestInTime) > r.limit; w.oldestInTime = w.oldestInTime.later {
		if w.oldestInTime.measured && !w.oldestInTime.overdue {
			w.oldestInTime.overdue = true
			r.past++
		}
	}
	unsent := int64(0)
	if w.blocked { // else whatever is due goes out with the next look, or is not made yet
		unsent = max(w.overdue.Until(now-r.limit-r.debt.ns)-w.taken, 0)
	}
	w.control.certain[w.thread].Store(r.past + unsent)
	if total := w.control.sum(); total > w.control.allowed {
		w.control.abort(now, total)
	}
}
