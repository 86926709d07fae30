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

// worker is one load thread with its share of the schedule and of the connections; it shares nothing with the
// others but the common control.
type worker struct {
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
func (w *worker) run() error {
	runtime.LockOSThread() // never unlocked: the thread ends with its affinity and its timer slack
	if err := w.prepareThread(); err != nil {
		return err
	}
	w.wall = w.clock.wall()
	w.usage.observe()
	defer w.usage.close()
	w.enter()
	for {
		now := w.clock.now()
		w.sendDue(now)
		if w.finished(now) {
			w.last = now
			w.expire(now)
			w.end = w.clock.now()
			return w.ring.failure()
		}
		w.readUntil = now
		events := w.wait(now)
		w.woken = w.clock.now()
		w.woke(w.woken)
		if w.pool.calls != nil && len(events) > 0 {
			w.called()
		}
		for _, event := range events {
			if c := w.pool.event(event); c != nil {
				w.handle(c, event.Events)
			}
		}
		if w.policy == spin && len(events) == 0 {
			w.polled.wall += w.woken - now
		}
		if w.readUntil-w.checked >= checkEvery || w.readUntil >= w.deadline() {
			w.check(w.readUntil)
		}
	}
}

func (w *worker) prepareThread() error {
	if len(w.cpus) > 0 {
		var set unix.CPUSet
		cpu := w.cpus[w.thread%len(w.cpus)]
		set.Set(cpu)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return mistake.New("cpus", "cannot run on CPU %d: %v", cpu, err)
		}
	}
	// By default the kernel may wake a thread 50 us late to save wake-ups.
	return unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
}

// finished says whether the run is over for this thread.
func (w *worker) finished(now int64) bool {
	if w.control.stop.Load() || w.control.aborted.Load() > 0 || now >= w.drained {
		return true
	}
	if w.counted && w.inFlight.count == 0 && (len(w.turns) == 0 || w.ring.exhausted()) {
		return true
	}
	if now < w.schedule.To || w.inFlight.count > 0 {
		return w.ring.failure() != nil
	}
	return w.closed() || w.ring.exhausted() && len(w.turns) == 0
}

// sendDue sends every request that is due, as long as there are connections for them.
func (w *worker) sendDue(now int64) {
	for {
		r, turn := w.due(now)
		if r == nil {
			w.blocked = false
			w.recorder.debt.pay(now)
			return
		}
		if w.abandons && now-r.at > w.timeout {
			w.giveUp(r, turn, now)
			continue
		}
		c := w.pool.take(now)
		if c == nil {
			if !w.blocked {
				w.blocked, w.blockedAt = true, now
			}
			return
		}
		w.freed = max(w.freed, c.ready)
		if turn != nil {
			w.turns.pop()
		}
		now = w.clock.now()
		w.start(c, r, now)
		if turn != nil {
			w.spareRequests = append(w.spareRequests, turn)
		}
		if turn != r {
			w.release(r)
		}
	}
}

// start sends a request, or connects for it first.
func (w *worker) start(c *connection, r *rendered, now int64) {
	x := w.exchange()
	*x = exchange{
		n: r.n, at: r.at, sentAt: now, op: r.op, measured: r.measured, session: w.begin(r), client: r.client, on: c, stalled: w.stalled,
	}
	lateness, delay := w.own(c, r.at, now)
	c.delay = delay
	if r.client != nil && r.session == nil {
		r.client.depart(r.measured)
		w.recorder.due(r.op, r.at, r.measured)
		if w.counted && r.measured {
			w.control.open()
		}
	}
	w.recorder.started(x, lateness, delay)
	w.inFlight.add(x)
	if w.oldestInTime == nil && !x.overdue {
		w.oldestInTime = x
	}
	if c.under = append(c.under, x); len(c.under) == 1 {
		w.expect(c)
	}
	switch {
	case w.pool.calls != nil:
		w.pool.calls.begin(c, r.data, w.clock.start.Add(time.Duration(now+w.timeout)))
		return
	case c.state == closed:
		c.pending = append(c.pending[:0], r.data...)
		if err := w.pool.open(c); err != nil {
			w.failAll(c, connectError{err}, connectError{err})
			w.renew(c, true)
		}
		return
	case len(c.pending) > 0: // pipelined behind what the socket has not taken yet
		c.pending = append(c.pending, r.data...)
	default:
		sent, errno := send(c.fd, r.data)
		switch {
		case errno == 0 && sent == len(r.data):
		case errno == 0 || errno == unix.EAGAIN:
			c.pending = append(c.pending[:0], r.data[max(sent, 0):]...)
		default:
			w.broke(c, errno)
			return
		}
	}
	if w.pool.depth > 1 {
		w.pool.release(c)
	}
}

// giveUp leaves a request unsent whose timeout has passed, and with it the rest of its session.
func (w *worker) giveUp(r, turn *rendered, now int64) {
	if r.measured {
		by := w.charge(r.at, now)
		w.recorder.abandoned(r.n, r.op, r.at, now, by)
		if s := w.begin(r); s != nil {
			for i := s.step + 1; i < len(s.operation.Steps); i++ {
				op := s.operation.First + int32(i)
				w.recorder.due(op, now, true)
				w.recorder.abandoned(s.n, op, now, now, by)
			}
		}
	}
	if turn != nil {
		w.turns.pop()
		w.spareRequests = append(w.spareRequests, turn)
	}
	if turn != r {
		w.release(r)
	}
}

// wait sleeps as the policy says, and returns the events there are then.
func (w *worker) wait(now int64) []unix.EpollEvent {
	until := min(now+sleepMost, w.deadline())
	if now < w.schedule.To {
		until = min(until, w.schedule.To)
	}
	if w.awaitsRequest {
		until = min(until, now+starveNap)
	} else if !w.blocked {
		if r := w.ring.peek(); r != nil && !w.closed() {
			until = min(until, r.at)
		}
		if turn := w.turns.first(); turn != nil && w.mayGo(turn) {
			until = min(until, turn.at)
		}
	}
	if ready, any := w.pool.wakes(); any && w.blocked {
		until = min(until, ready)
	}
	switch {
	case w.policy == spin:
		until = now
	case w.policy == tick && !w.blocked:
		if w.inFlight.count > 0 {
			until = min(until, now)
		}
		until = (until/w.tick + 1) * w.tick
		w.asleep = until
		w.pool.poller.sleep(until - now)
		w.readUntil = w.clock.now()
		return w.pool.poller.wait(0)
	}
	w.asleep = until
	return w.pool.poller.wait(until - now)
}
