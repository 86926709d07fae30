package load

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/mistake"
)

const (
	intervalLength = int64(1e9)
	checkEvery     = int64(10e6)  // how often a busy loop looks at limits that have passed
	sleepMost      = int64(100e6) // no sleep is longer, so that a stop is noticed
	starveNap      = int64(50e3)
	bufferSize     = 64 << 10
)

// loadThread is one load thread with its share of the schedule and of the connections; it shares nothing with the
// others but the common control.
type loadThread struct {
	thread int
	cpus   []int
	clock  clock
	sender
	books
	pool     *pool
	receiver *receiver
	control  *control
	toScript chan<- *answer // answers that a script wants to see
	policy   waitPolicy
	tick     int64
	drained  int64 // when the drain ends

	wall        int64 // subtract from a kernel's time stamp to get the run's time
	woken       int64 // when the last wait ended
	readUntil   int64 // everything that had arrived by then has been read
	asleep      int64 // until when it meant to wait
	stalled     int64 // ns that it overslept, stalls alone
	blocked     bool  // a request is due and no connection is free
	blockedAt   int64 // when that was seen first
	freed       int64 // when a connection became free the last time
	answersLost int64 // answers that a script could not see in time
	polled      polling
	last        int64 // when it last searched for requests to send
	end         int64
}

// run drives the load until the window is over and everything is answered, or the drain has ended.
func (t *loadThread) run() error {
	runtime.LockOSThread() // never unlocked: the thread ends with its affinity and its timer slack
	if err := t.prepareThread(); err != nil {
		return err
	}
	t.wall = t.clock.wall()
	t.usage.observe()
	defer t.usage.close()
	t.enter()
	for {
		now := t.clock.now()
		t.sendDue(now)
		if t.finished(now) {
			t.last = now
			t.expire(now)
			t.end = t.clock.now()
			return t.ring.failure()
		}
		t.readUntil = now
		events := t.wait(now)
		t.woken = t.clock.now()
		t.woke(t.woken)
		if t.pool.calls != nil && len(events) > 0 {
			t.called()
		}
		for _, event := range events {
			if c := t.pool.event(event); c != nil {
				t.handle(c, event.Events)
			}
		}
		if t.policy == spin && len(events) == 0 {
			t.polled.wall += t.woken - now
		}
		if t.readUntil-t.checked >= checkEvery || t.readUntil >= t.deadline() {
			t.check(t.readUntil)
		}
	}
}

func (t *loadThread) prepareThread() error {
	if len(t.cpus) > 0 {
		var set unix.CPUSet
		cpu := t.cpus[t.thread%len(t.cpus)]
		set.Set(cpu)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return mistake.New("cpus", "cannot run on CPU %d: %v", cpu, err)
		}
	}
	// By default the kernel may wake a thread 50 us late to save wake-ups.
	return unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// finished says whether the run is over for this thread.
func (t *loadThread) finished(now int64) bool {
	if t.control.stop.Load() || t.control.aborted.Load() > 0 || now >= t.drained {
		return true
	}
	if t.counted && t.inFlight.count == 0 && (len(t.turns) == 0 || t.ring.exhausted()) {
		return true
	}
	if now < t.schedule.To || t.inFlight.count > 0 {
		return t.ring.failure() != nil
	}
	return t.closed() || t.ring.exhausted() && len(t.turns) == 0
}

// sendDue sends every request that is due, as long as there are connections for them.
func (t *loadThread) sendDue(now int64) {
	for {
		r, turn := t.due(now)
		if r == nil {
			t.blocked = false
			t.recorder.debt.pay(now)
			return
		}
		if t.abandons && now-r.at > t.timeout {
			t.giveUp(r, turn, now)
			continue
		}
		c := t.pool.take(now)
		if c == nil {
			if !t.blocked {
				t.blocked, t.blockedAt = true, now
			}
			return
		}
		t.freed = max(t.freed, c.ready)
		if turn != nil {
			t.turns.pop()
		}
		now = t.clock.now()
		t.start(c, r, now)
		if turn != nil {
			t.spareRequests = append(t.spareRequests, turn)
		}
		if turn != r {
			t.release(r)
		}
	}
}

// start sends a request, or connects for it first.
func (t *loadThread) start(c *connection, r *rendered, now int64) {
	x := t.exchange()
	*x = exchange{
		n: r.n, at: r.at, sentAt: now, op: r.op, measured: r.measured, session: t.begin(r), client: r.client, on: c, stalled: t.stalled,
	}
	lateness, delay := t.own(c, r.at, now)
	c.delay = delay
	if r.client != nil && r.session == nil {
		r.client.depart(r.measured)
		t.recorder.due(r.op, r.at, r.measured)
		if t.counted && r.measured {
			t.control.open()
		}
	}
	t.recorder.started(x, lateness, delay)
	t.inFlight.add(x)
	if t.oldestInTime == nil && !x.overdue {
		t.oldestInTime = x
	}
	if c.under = append(c.under, x); len(c.under) == 1 {
		t.expect(c)
	}
	switch {
	case t.pool.calls != nil:
		t.pool.calls.begin(c, r.data, t.clock.start.Add(time.Duration(now+t.timeout)))
		return
	case c.state == closed:
		t.dial(c, r.data)
		return
	case len(c.pending) > 0: // pipelined behind what the socket has not taken yet
		c.pending = append(c.pending, r.data...)
	default:
		sent, errno := send(c.fd, r.data)
		switch {
		case errno == 0 && sent == len(r.data):
		case errno == 0 || errno == unix.EAGAIN:
			c.pending = append(c.pending[:0], r.data[max(sent, 0):]...)
		case c.answered && len(c.under) == 1: // it has ended since its last answer, and nothing of the request went out
			t.pool.drop(c)
			t.dial(c, r.data)
			return
		default:
			t.severed(c, errno)
			return
		}
	}
	if t.pool.depth > 1 {
		t.pool.release(c)
	}
}

// dial connects for a request.
func (t *loadThread) dial(c *connection, data []byte) {
	c.pending = append(c.pending[:0], data...)
	if err := t.pool.open(c); err != nil {
		t.failAll(c, connectError{err}, connectError{err})
		t.renew(c, true)
	}
}

// giveUp leaves a request unsent whose timeout has passed, and with it the rest of its session.
func (t *loadThread) giveUp(r, turn *rendered, now int64) {
	if r.measured {
		by := t.charge(r.at, now)
		t.recorder.abandoned(r.n, r.op, r.at, now, by)
		if s := t.begin(r); s != nil {
			for i := s.step + 1; i < len(s.operation.Steps); i++ {
				op := s.operation.First + int32(i)
				t.recorder.due(op, now, true)
				t.recorder.abandoned(s.n, op, now, now, by)
			}
		}
	}
	if turn != nil {
		t.turns.pop()
		t.spareRequests = append(t.spareRequests, turn)
	}
	if turn != r {
		t.release(r)
	}
}

// wait sleeps as the policy says, and returns the events there are then.
func (t *loadThread) wait(now int64) []unix.EpollEvent {
	until := min(now+sleepMost, t.deadline())
	if now < t.schedule.To {
		until = min(until, t.schedule.To)
	}
	if t.awaitsRequest {
		until = min(until, now+starveNap)
	} else if !t.blocked {
		if r := t.ring.peek(); r != nil && !t.closed() {
			until = min(until, r.at)
		}
		if turn := t.turns.first(); turn != nil && t.mayGo(turn) {
			until = min(until, turn.at)
		}
	}
	if ready, any := t.pool.wakes(); any && t.blocked {
		until = min(until, ready)
	}
	switch {
	case t.policy == spin:
		until = now
	case t.policy == tick && !t.blocked:
		if t.inFlight.count > 0 {
			until = min(until, now)
		}
		until = (until/t.tick + 1) * t.tick
		t.asleep = until
		t.pool.poller.sleep(until - now)
		t.readUntil = t.clock.now()
		return t.pool.poller.wait(0)
	}
	t.asleep = until
	return t.pool.poller.wait(until - now)
}
