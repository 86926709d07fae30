package load

import (
	"math"

	"loadstone.dev/stone/load/result"
)

// What a request waited for the generator must not pass for what it waited for the system. Two numbers are kept apart:
//
//   - The own lateness of a request is the time from when it could have gone to when it went. It could have gone when it
//     was due or, if no connection was free then, when one was; what passed before the thread even saw that none was free
//     is own lateness, too.
//   - Its own delay bounds how much sooner it would have been answered by a generator that is never late. Lateness adds up
//     along a connection: a request that waits for one goes out later by what the request before it on that connection was
//     late. And the backlog of a stall goes out as a burst, behind which even requests queue that were sent in time. In a
//     queue that serves in order, arrivals that are late by at most D delay no departure by more than D; so as long as
//     the consequences of a stall may last, each request is granted the longest delay of them.
//
// A violation of a limit that is none without the own delay is caused by the generator alone.

// explains says whether an own delay alone made a wait longer than a limit.
func explains(delay, waited, limit int64) bool { return waited > limit && waited-delay <= limit }

// debt is the longest own delay of a request whose consequences the system may not have worked off yet. They have
// been when the backlog has gone out and a request that became due after that has met the limit.
type debt struct {
	ns   int64
	paid int64 // when its backlog had gone out
}

const unpaid = math.MaxInt64

// incur notes the own delay of a request that goes out, and returns what it is granted.
func (d *debt) incur(delay int64) int64 {
	if delay >= d.ns {
		d.ns, d.paid = delay, unpaid
	}
	return d.ns
}

// pay notes that nothing is due any more.
func (d *debt) pay(now int64) {
	if d.paid == unpaid {
		d.paid = now
	}
}

// met notes that a request that was due then has met the limit.
func (d *debt) met(due int64) {
	if due > d.paid {
		d.ns = 0
	}
}

// own returns the own lateness and the own delay of a request that was due at `at` and goes out now on a connection.
func (t *loadThread) own(c *connection, at, now int64) (lateness, delay int64) {
	late := now - at
	if !t.blocked {
		return late, late
	}
	unseen := max(t.blockedAt-at, 0)
	lateness = min(now-max(at, min(t.freed, now))+unseen, late)
	return lateness, min(lateness+c.delay, late)
}

// stallLeast is how long a thread must oversleep for the process, or its machine, to have stalled.
const stallLeast = int64(1e6)

// woke notes how much later than it meant to the thread goes on.
func (t *loadThread) woke(now int64) {
	if late := now - t.asleep; late >= stallLeast {
		t.stalled += late
	}
}

// granted is the own delay of a request under way. The kernel says when an answer arrived on a socket, however late it is
// read; a library says when it had read it, so what the thread overslept meanwhile may be part of it.
func (t *loadThread) granted(x *exchange) int64 {
	if t.pool.calls == nil {
		return x.delay
	}
	return x.delay + t.stalled - x.stalled
}

// charge returns what of a request that was due at `at` and is not sent, now that it is too late, is the generator's fault.
// A request that waited for a connection was not neglected, but its wait may violate the limit by the generator's own delay.
func (t *loadThread) charge(at, now int64) result.ByGenerator {
	neglected, delay := !t.blocked, t.recorder.debt.ns
	if t.blocked && t.pool.count > 0 { // one is free again: how late it would go out
		lateness, _ := t.own(&connection{}, at, now)
		neglected = explains(lateness, now-at, t.recorder.limit)
		delay = max(delay, lateness)
	}
	switch {
	case at > now:
		return result.ByGenerator{}
	case neglected:
		return result.ByGenerator{Violations: 1, Unsent: 1, Neglected: 1}
	case explains(delay, now-at, t.recorder.limit):
		return result.ByGenerator{Violations: 1, Unsent: 1}
	}
	return result.ByGenerator{}
}
