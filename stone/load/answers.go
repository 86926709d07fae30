package load

import (
	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/request"
)

const (
	plausible = int64(1e6)  // a batch of answers is handled within that
	respite   = int64(10e6) // a closed-loop client that failed tries again after that, or a dead server is flooded
)

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
		if len(c.under) == 0 {
			w.freed = w.clock.now()
		}
		w.pool.release(c)
	}
	if len(c.pending) > 0 && events&unix.EPOLLOUT != 0 && !w.flush(c) {
		return
	}
	hangup := events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
	if hangup || events&unix.EPOLLIN != 0 {
		w.receive(c, hangup)
	}
	if w.blocked {
		w.sendDue(w.readUntil)
	}
}

// flush sends more of what the socket did not take at once; false if the connection is gone.
func (w *worker) flush(c *connection) bool {
	sent, errno := send(c.fd, c.pending)
	if errno == unix.EAGAIN {
		return true
	}
	if errno != 0 {
		w.broke(c, errno)
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
			w.broke(c, errno)
			return
		case n == 0:
			w.ended(c)
			return
		}
		w.recorder.bytes += int64(n)
		if !w.parse(c, w.receiver.data[:n], arrived) {
			return
		}
		if n < len(w.receiver.data) && !hangup {
			return
		}
	}
}

// parse takes what a connection has received; false if the connection is not the same any more.
func (w *worker) parse(c *connection, data []byte, arrived int64) bool {
	for len(data) > 0 {
		if len(c.under) == 0 { // bytes without a request
			w.renew(c, !c.answered)
			return false
		}
		used, whole, err := c.response.Feed(data)
		if err != nil {
			w.broke(c, err)
			return false
		}
		if data = data[used:]; !whole {
			break
		}
		again := c.response.KeepAlive && !w.pool.single
		c.answered, c.rest = true, 0
		w.conclude(c, w.time(c.under[0], arrived))
		switch {
		case !again || len(c.under) == 0 && (len(data) > 0 || len(c.pending) > 0):
			w.broke(c, request.ErrNoAnswer)
			return false
		case len(c.under) > 0:
			w.expect(c)
		}
		w.pool.release(c)
	}
	return true
}

// time is when the last byte of an answer arrived: by the kernel's stamp, unless that cannot be.
func (w *worker) time(x *exchange, arrived int64) int64 {
	if at := arrived - w.wall; arrived > 0 && at >= x.sentAt && at <= w.woken+plausible {
		return at
	}
	return w.clock.now()
}

// ended is for a connection that the other side has closed, which may be the end of an answer.
func (w *worker) ended(c *connection) {
	if len(c.under) > 0 {
		if err := c.response.End(); err != nil {
			w.broke(c, err)
			return
		}
		w.conclude(c, w.clock.now())
	}
	w.broke(c, request.ErrNoAnswer)
}

// refused is for a connection that could not be made. Its request, if any, has failed; a request that comes
// next makes the next attempt.
func (w *worker) refused(c *connection, err error) {
	w.pool.tally.failed(err)
	w.failAll(c, connectError{err}, connectError{err})
	w.renew(c, true)
}

// broke fails everything under way on a connection, and gives its socket up.
func (w *worker) broke(c *connection, cause error) {
	w.failAll(c, cause, request.ErrNoAnswer)
	w.renew(c, !c.answered)
}

// renew gives the connection's socket up: a request that needs the connection opens a new one, after a rest if the old
// one came to nothing. A slot for calls is free again when its call has ended.
func (w *worker) renew(c *connection, vain bool) {
	if w.pool.calls != nil {
		return
	}
	if c.fd >= 0 {
		w.pool.drop(c)
	}
	if vain {
		w.pool.retire(c, w.clock.now())
	} else {
		w.pool.shut(c)
	}
}

// failAll fails the oldest exchange of a connection for one cause, and the others for another.
func (w *worker) failAll(c *connection, oldest, others error) {
	cause := oldest
	for len(c.under) > 0 {
		w.fail(c, cause, nil)
		cause = others
	}
}

// expect prepares for the answer to the oldest exchange of a connection.
func (w *worker) expect(c *connection) {
	k := w.kind(c.under[0].op)
	c.response.Reset(k.HeadOnly)
	c.response.Most, c.response.KeepHead = k.Keep, k.KeepHead
}

// conclude judges a whole answer to the oldest exchange of a connection.
func (w *worker) conclude(c *connection, at int64) {
	r := &c.response
	x := c.under[0]
	x.status, x.size = int16(r.Status), r.Size
	if w.toScript != nil {
		w.tell(r)
	}
	err := w.kind(x.op).Expect.Check(r.Status, r.Body, r.Size)
	if err == nil && x.session != nil {
		err = w.advance(x, r, at)
	}
	if err != nil {
		example := r.Example
		if len(example) == 0 { // kept of bad statuses; this body was kept for what it should have held
			example = r.Body[:min(len(r.Body), request.ExampleMax)]
		}
		w.fail(c, err, example)
		return
	}
	w.unload(c)
	w.freed = at
	w.recorder.answeredWell(x, at)
	w.over(x, at, true)
}

// tell copies an answer for the script, unless that is too far behind.
func (w *worker) tell(r *request.Response) {
	select {
	case w.toScript <- &answer{r.Status, append([]byte(nil), r.Head...), append([]byte(nil), r.Body...)}:
	default:
		w.answersLost++
	}
}

// fail notes that the oldest exchange of a connection will have no good answer.
func (w *worker) fail(c *connection, cause error, example []byte) {
	x := c.under[0]
	w.unload(c)
	w.freed = w.clock.now()
	w.recorder.failed(x, w.freed, cause, example)
	if x.session != nil {
		w.abandon(x.session, cause, w.freed)
		x.session = nil
	}
	w.over(x, w.freed, false)
}

// unload takes the oldest exchange off its connection.
func (w *worker) unload(c *connection) {
	x := c.under[0]
	x.delay = w.granted(x)
	if w.oldestInTime == x {
		w.oldestInTime = x.later
	}
	w.inFlight.remove(x)
	c.under = c.under[:copy(c.under, c.under[1:])]
}

// over gives the client of a closed loop its next turn, and the exchange back for use. After a failure the client waits
// a little longer, or a dead server would be flooded.
func (w *worker) over(x *exchange, at int64, good bool) {
	goesOn := x.session != nil && x.session.step < len(x.session.operation.Steps)
	if c := x.client; c != nil && !goesOn {
		if w.counted && x.measured {
			w.recorder.arrived(c, x, at, good)
		}
		ready := at + w.think
		if !good {
			ready += respite
		}
		if !c.finished() {
			from := w.schedule.From
			if w.counted && c.sent == 0 {
				from = w.schedule.To // what is missed in the warm-up does not count
			}
			next, missed := c.turn(ready, from, w.schedule.To)
			w.recorder.missed += missed
			w.admit(c, next)
		}
	}
	w.spareExchanges = append(w.spareExchanges, x)
}
