package load

import (
	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/request"
)

const (
	plausible = int64(1e6)  // a batch of answers is handled within that
	respite   = int64(10e6) // a closed-loop client that failed tries again after that, or a dead server is flooded
	turnBytes = 1 << 20     // read from one connection before others and what is due have their turn
)

// handle acts on what epoll says about a connection.
func (t *loadThread) handle(c *connection, events uint32) {
	if c.state == connecting {
		if err := connected(c.fd); err != nil {
			t.refused(c, err)
			return
		}
		if events&unix.EPOLLOUT == 0 {
			return
		}
		if len(c.under) == 0 {
			t.freed = t.clock.now()
		}
		t.pool.release(c)
	}
	if len(c.pending) > 0 && events&unix.EPOLLOUT != 0 && !t.flush(c) {
		return
	}
	hangup := events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
	if hangup || events&unix.EPOLLIN != 0 {
		t.receive(c, hangup)
	}
	if t.blocked {
		t.sendDue(t.readUntil)
	}
}

// flush sends more of what the socket did not take at once; false if the connection is gone.
func (t *loadThread) flush(c *connection) bool {
	sent, errno := send(c.fd, c.pending)
	if errno == unix.EAGAIN {
		return true
	}
	if errno != 0 {
		t.severed(c, errno)
		return false
	}
	c.pending = c.pending[:copy(c.pending, c.pending[sent:])]
	return true
}

// severed is for a connection that takes no more of its requests. If the other side has ended it, answers may have come
// before that: to requests that went out whole, or to one that is not wanted whole (RFC 9112, 9.3 and 9.5).
func (t *loadThread) severed(c *connection, cause unix.Errno) {
	if cause != unix.ECONNRESET && cause != unix.EPIPE {
		t.broke(c, cause)
		return
	}
	c.pending = c.pending[:0]
	t.receive(c, true)
}

// receive reads until the socket is empty (the events are edge-triggered), or for one turn: bytes that come faster than
// they are read would else hold up all other requests, and their own timeout. What has arrived by now is part of the
// turn, so that no request is judged before its answer is read.
func (t *loadThread) receive(c *connection, hangup bool) {
	left, last := turnBytes, false
	for {
		n, arrived, errno := t.receiver.receive(c.fd)
		switch {
		case errno == unix.EAGAIN:
			return
		case errno == unix.EINTR:
			continue
		case errno != 0:
			t.broke(c, errno)
			return
		case n == 0:
			t.ended(c)
			return
		}
		t.recorder.bytes += int64(n)
		if !t.parse(c, t.receiver.data[:n], arrived) {
			return
		}
		if n < len(t.receiver.data) && !hangup {
			return
		}
		if left -= n; left <= 0 && !last {
			left, last = waiting(c.fd), true
		}
		if left > 0 {
			continue
		}
		if err := t.pool.poller.again(c.fd, c.index, c.generation); err != nil {
			t.broke(c, err)
		}
		return
	}
}

// parse takes what a connection has received; false if the connection is not the same any more.
func (t *loadThread) parse(c *connection, data []byte, arrived int64) bool {
	for len(data) > 0 {
		if len(c.under) == 0 { // bytes without a request
			t.renew(c, !c.answered)
			return false
		}
		used, whole, err := c.response.Feed(data)
		if err != nil {
			t.broke(c, err)
			return false
		}
		if data = data[used:]; !whole {
			break
		}
		again := c.response.KeepAlive && !t.pool.single
		c.answered, c.rest = true, 0
		t.conclude(c, t.time(c.under[0], arrived))
		switch {
		case !again || len(c.under) == 0 && (len(data) > 0 || len(c.pending) > 0):
			t.broke(c, request.ErrNoAnswer)
			return false
		case len(c.under) > 0:
			t.expect(c)
		}
		t.pool.release(c)
	}
	return true
}

// time is when the last byte of an answer arrived: by the kernel's stamp, unless that cannot be.
func (t *loadThread) time(x *exchange, arrived int64) int64 {
	if at := arrived - t.wall; arrived > 0 && at >= x.sentAt && at <= t.woken+plausible {
		return at
	}
	return t.clock.now()
}

// ended is for a connection that the other side has closed, which may be the end of an answer.
func (t *loadThread) ended(c *connection) {
	if len(c.under) > 0 {
		if err := c.response.End(); err != nil {
			t.broke(c, err)
			return
		}
		c.answered, c.rest = true, 0
		t.conclude(c, t.clock.now())
	}
	t.broke(c, request.ErrNoAnswer)
}

// refused is for a connection that could not be made. Its request, if any, has failed; a request that comes
// next makes the next attempt.
func (t *loadThread) refused(c *connection, err error) {
	t.pool.tally.failed(err)
	t.failAll(c, connectError{err}, connectError{err})
	t.renew(c, true)
}

// broke fails everything under way on a connection, and gives its socket up.
func (t *loadThread) broke(c *connection, cause error) {
	t.failAll(c, cause, request.ErrNoAnswer)
	t.renew(c, !c.answered)
}

// renew gives the connection's socket up: a request that needs the connection opens a new one, after a rest if the old
// one came to nothing. A slot for calls is free again when its call has ended.
func (t *loadThread) renew(c *connection, vain bool) {
	if t.pool.calls != nil {
		return
	}
	if c.fd >= 0 {
		t.pool.drop(c)
	}
	if vain {
		t.pool.retire(c, t.clock.now())
	} else {
		t.pool.shut(c)
	}
}

// failAll fails the oldest exchange of a connection for one cause, and the others for another.
func (t *loadThread) failAll(c *connection, oldest, others error) {
	cause := oldest
	for len(c.under) > 0 {
		t.fail(c, cause, nil)
		cause = others
	}
}

// expect prepares for the answer to the oldest exchange of a connection.
func (t *loadThread) expect(c *connection) {
	k := t.kind(c.under[0].op)
	c.response.Reset(k.HeadOnly)
	c.response.Most, c.response.KeepHead = k.Keep, k.KeepHead
}

// conclude judges a whole answer to the oldest exchange of a connection.
func (t *loadThread) conclude(c *connection, at int64) {
	r := &c.response
	x := c.under[0]
	x.status, x.size = int16(r.Status), r.Size
	if t.toScript != nil {
		t.tell(r)
	}
	err := t.kind(x.op).Expect.Check(r.Status, r.Body, r.Size)
	if err == nil && x.session != nil {
		err = t.advance(x, r, at)
	}
	if err != nil {
		example := r.Example
		if len(example) == 0 { // kept of bad statuses; this body was kept for what it should have held
			example = r.Body[:min(len(r.Body), request.ExampleMax)]
		}
		t.fail(c, err, example)
		return
	}
	t.unload(c)
	t.freed = at
	t.recorder.answeredWell(x, at)
	t.over(x, at, true)
}

// tell copies an answer for the script, unless that is too far behind.
func (t *loadThread) tell(r *request.Response) {
	select {
	case t.toScript <- &answer{r.Status, append([]byte(nil), r.Head...), append([]byte(nil), r.Body...)}:
	default:
		t.answersLost++
	}
}

// fail notes that the oldest exchange of a connection will have no good answer.
func (t *loadThread) fail(c *connection, cause error, example []byte) {
	x := c.under[0]
	t.unload(c)
	t.freed = t.clock.now()
	t.recorder.failed(x, t.freed, cause, example)
	if x.session != nil {
		t.abandon(x.session, cause, t.freed)
		x.session = nil
	}
	t.over(x, t.freed, false)
}

// unload takes the oldest exchange off its connection.
func (t *loadThread) unload(c *connection) {
	x := c.under[0]
	x.delay = t.granted(x)
	if t.oldestInTime == x {
		t.oldestInTime = x.later
	}
	t.inFlight.remove(x)
	c.under = c.under[:copy(c.under, c.under[1:])]
}

// over gives the client of a closed loop its next turn, and the exchange back for use. After a failure the client waits
// a little longer, or a dead server would be flooded.
func (t *loadThread) over(x *exchange, at int64, good bool) {
	goesOn := x.session != nil && x.session.step < len(x.session.operation.Steps)
	if c := x.client; c != nil && !goesOn {
		if t.counted && x.measured {
			t.recorder.arrived(c, x, at, good)
		}
		ready := at + t.think
		if !good {
			ready += respite
		}
		if !c.finished() {
			from := t.schedule.From
			if t.counted && c.sent == 0 {
				from = t.schedule.To // what is missed in the warm-up does not count
			}
			next, missed := c.turn(ready, from, t.schedule.To)
			t.recorder.missed += missed
			t.admit(c, next)
		}
	}
	t.spareExchanges = append(t.spareExchanges, x)
}
