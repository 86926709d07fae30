package load

import (
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	intervalLength = int64(1e9)
	checkEvery     = int64(10e6)  // how often a busy loop looks at limits that have passed
	sleepMost      = int64(100e6) // no sleep is longer, so that a stop is noticed
	plausible      = int64(1e6)   // a batch of answers is handled within that
	starveNap      = int64(50e3)
	bufferSize     = 64 << 10
)

// worker is one load thread with its share of the schedule and of the connections; it shares nothing with the
// others but the common control.
type worker struct {
	thread   int
	cpus     []int
	clock    clock
	schedule schedule
	ring     *ring
	pool     *pool
	inFlight list
	young    *connection // the oldest request in flight that is not overdue
	receiver *receiver
	recorder *recorder
	control  *control
	overdue  arrivals // counts what was due an SLO's latency ago
	policy   waitPolicy
	tick     int64
	timeout  int64
	drained  int64 // when the drain ends
	headOnly []bool

	wall     int64 // subtract from a kernel's time stamp to get the run's time
	woken    int64 // when the last wait ended
	looked   int64 // everything that had arrived by then has been read
	checked  int64
	boundary int64  // end of the current interval
	sent     uint64 // requests taken from the ring
	taken    int64  // those of them that are measured
	blocked  bool   // a request is due and no connection is free
	freed    int64  // when a connection became free the last time
	starved  int64  // times that a request may have been due and was not rendered yet
	hungry   bool
	idleSpin int64 // ns polled for nothing
	usage    usage
	end      int64
}

// run drives the load until the window is over and everything is answered, or the drain has ended.
func (w *worker) run() error {
	runtime.LockOSThread() // never unlocked: the thread ends with its affinity and its timer slack
	if err := w.prepareThread(); err != nil {
		return err
	}
	w.wall = w.clock.wall()
	for {
		now := w.clock.now()
		w.sendDue(now)
		if w.finished(now) {
			w.expire(now)
			w.end = w.clock.now()
			return nil
		}
		w.looked = now
		events := w.wait(now)
		w.woken = w.clock.now()
		for _, event := range events {
			if c := w.pool.event(event); c != nil {
				w.handle(c, event.Events)
			}
		}
		if w.policy == spin && len(events) == 0 {
			w.idleSpin += w.woken - now
		}
		if w.looked-w.checked >= checkEvery || w.looked >= w.deadline() {
			w.check(w.looked)
		}
	}
}

func (w *worker) prepareThread() error {
	if len(w.cpus) > 0 {
		var set unix.CPUSet
		cpu := w.cpus[w.thread%len(w.cpus)]
		set.Set(cpu)
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return bad("cpus", "cannot run on CPU %d: %v", cpu, err)
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
	return now >= w.schedule.to && w.inFlight.count == 0 && w.ring.exhausted()
}

// sendDue sends every request that is due, as long as there are connections for them.
func (w *worker) sendDue(now int64) {
	for {
		r := w.ring.peek()
		if r == nil {
			w.blocked = false
			hungry := !w.ring.exhausted()
			if hungry && !w.hungry {
				w.starved++
			}
			w.hungry = hungry
			return
		}
		if w.hungry = false; r.at > now {
			w.blocked = false
			return
		}
		c := w.pool.take()
		if c == nil {
			w.blocked = true
			return
		}
		now = w.clock.now()
		w.start(c, r, now)
		w.ring.pop()
	}
}

// start sends a request, or connects for it first.
func (w *worker) start(c *connection, r *request, now int64) {
	c.at, c.sentAt, c.op, c.measured, c.loaded = r.at, now, r.op, r.measured, true
	c.response.reset(w.headOnly[r.op])
	w.sent++
	if r.measured {
		w.taken++
	}
	possible := r.at
	if w.blocked {
		possible = max(possible, min(w.freed, now))
	}
	w.recorder.started(c, possible)
	w.inFlight.add(c)
	if w.young == nil && !c.overdue {
		w.young = c
	}
	if c.state == closed {
		c.pending = append(c.pending[:0], r.data...)
		if err := w.pool.open(c); err != nil {
			w.fail(c, connectError{err}, nil)
		}
		return
	}
	c.state = busy
	sent, errno := send(c.fd, r.data)
	switch {
	case errno == 0 && sent == len(r.data):
	case errno == 0 || errno == unix.EAGAIN:
		c.pending = append(c.pending[:0], r.data[max(sent, 0):]...)
	default:
		w.fail(c, errno, nil)
		w.reopen(c)
	}
}

// handle acts on what epoll says about a connection.
func (w *worker) handle(c *connection, events uint32) {
	if c.state == connecting {
		if err := connected(c.fd); err != nil {
			w.refused(c, err)
			return
		}
		if events&unix.EPOLLOUT == 0 {
			return
		}
		if c.loaded {
			c.state = busy
		} else {
			w.freed = w.clock.now()
			w.pool.release(c)
		}
	}
	if len(c.pending) > 0 && events&unix.EPOLLOUT != 0 && !w.flush(c) {
		return
	}
	hangup := events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
	if hangup || events&unix.EPOLLIN != 0 {
		w.receive(c, hangup)
	}
	if w.blocked {
		w.sendDue(w.looked)
	}
}

// flush sends more of a request that the socket did not take at once; false if the connection is gone.
func (w *worker) flush(c *connection) bool {
	sent, errno := send(c.fd, c.pending)
	if errno == unix.EAGAIN {
		return true
	}
	if errno != 0 {
		w.fail(c, errno, nil)
		w.reopen(c)
		return false
	}
	c.pending = c.pending[:copy(c.pending, c.pending[sent:])]
	return true
}

// receive reads until the socket is empty (the events are edge-triggered).
func (w *worker) receive(c *connection, hangup bool) {
	for {
		n, arrived, errno := w.receiver.receive(c.fd)
		switch {
		case errno == unix.EAGAIN:
			return
		case errno == unix.EINTR:
			continue
		case errno != 0:
			w.lost(c, errno)
			return
		case n == 0:
			w.lost(c, c.response.end())
			return
		case !c.loaded: // bytes that nobody asked for
			w.reopen(c)
			return
		}
		used, whole, err := c.response.feed(w.receiver.data[:n])
		if err != nil {
			w.fail(c, err, nil)
			w.reopen(c)
			return
		}
		if whole {
			again := c.response.keepAlive && used == n && len(c.pending) == 0
			w.conclude(c, w.time(c, arrived))
			if !again {
				w.reopen(c)
				return
			}
			w.pool.release(c)
		}
		if n < len(w.receiver.data) && !hangup {
			return
		}
	}
}

// time is when the last byte of an answer arrived: by the kernel's stamp, unless that cannot be.
func (w *worker) time(c *connection, arrived int64) int64 {
	if at := arrived - w.wall; arrived > 0 && at >= c.sentAt && at <= w.woken+plausible {
		return at
	}
	return w.clock.now()
}

// lost is for a connection that the other side has ended; without an error that was the end of the answer.
func (w *worker) lost(c *connection, err error) {
	if c.loaded {
		if err == nil {
			w.conclude(c, w.clock.now())
		} else {
			w.fail(c, err, nil)
		}
	}
	w.reopen(c)
}

// refused is for a connection that could not be made. Its request, if any, has failed; a request that comes
// next makes the next attempt.
func (w *worker) refused(c *connection, err error) {
	w.pool.drop(c)
	c.state = closed
	w.pool.closed = append(w.pool.closed, c)
	if c.loaded {
		w.fail(c, connectError{err}, nil)
	}
}

// reopen replaces the connection's socket.
func (w *worker) reopen(c *connection) {
	w.pool.drop(c)
	_ = w.pool.open(c) // a failure leaves it closed: the next request that takes it tries again, and reports
}

// conclude notes a whole answer.
func (w *worker) conclude(c *connection, at int64) {
	if c.response.status >= 400 {
		w.fail(c, statusError(c.response.status), c.response.example)
		return
	}
	w.unload(c)
	w.freed = at
	w.recorder.answeredWell(c, at)
}

// fail notes that a request will have no good answer.
func (w *worker) fail(c *connection, cause error, example []byte) {
	w.unload(c)
	w.freed = w.clock.now()
	w.recorder.failed(c, w.freed, cause, example)
}

func (w *worker) unload(c *connection) {
	if w.young == c {
		w.young = c.later
	}
	w.inFlight.remove(c)
	c.loaded = false
}

// wait sleeps as the policy says, and returns the events there are then.
func (w *worker) wait(now int64) []unix.EpollEvent {
	until := min(now+sleepMost, w.deadline())
	if w.hungry {
		until = min(until, now+starveNap)
	} else if r := w.ring.peek(); r != nil && !w.blocked {
		until = min(until, r.at)
	} else if now < w.schedule.to {
		until = min(until, w.schedule.to)
	}
	switch {
	case w.policy == spin:
		until = now
	case w.policy == tick && !w.blocked:
		if w.inFlight.count > 0 {
			until = min(until, now)
		}
		until = (until/w.tick + 1) * w.tick
		w.pool.poller.sleep(until - now)
		w.looked = w.clock.now()
		until = now
	}
	return w.pool.poller.wait(until - now)
}
