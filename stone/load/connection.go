package load

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/transport"
)

type connectionState uint8

const (
	closed     connectionState = iota // not connected; the next request that takes it connects
	connecting                        // maybe with a request that goes out as soon as it is connected
	open
)

// connection is one of a thread's. It carries one exchange at a time, or up to the pool's depth when pipelined.
type connection struct {
	fd, index  int
	generation int32 // counts its sockets, so that an event of an earlier one is known as such
	state      connectionState
	queued     bool        // it stands in the queue of those with room
	under      []*exchange // under way, oldest first
	pending    []byte      // what the socket has not taken yet of the requests
	response   response    // to the oldest exchange
}

// Policies of a pool.
const (
	fixedPolicy   = "fixed"   // so many connections from beginning to end
	growingPolicy = "growing" // more are opened when none has room
	newPolicy     = "new"     // one for each request
)

// pool is the connections of one thread.
type pool struct {
	targets     []address
	poller      *poller
	calls       *calls // instead of sockets; nil for plain HTTP/1.1
	connections []connection
	depth       int  // exchanges at a time on one connection
	single      bool // a connection is used once
	initial     int  // how many are opened before the start
	room        []*connection
	head, count int // of the circle `room`: all connections take turns, as behind a balancer they should
	closed      []*connection
}

// newPool makes the part of the plan's connections that falls to one of its threads.
func newPool(plan *Plan, targets []address, thread int) (*pool, error) {
	p := &pool{depth: plan.Pipelining, single: plan.Policy == newPolicy}
	for _, target := range targets {
		p.targets = append(p.targets, target.own())
	}
	size := portion(plan.Connections, plan.threads(), plan.number(thread)) * plan.slots()
	p.initial = size
	switch plan.Policy {
	case growingPolicy:
		size = max(size, portion(plan.MostConnections, plan.threads(), plan.number(thread)))
	case newPolicy:
		p.initial = 0
	}
	var err error
	if p.poller, err = newPoller(size); err != nil {
		return nil, err
	}
	p.connections, p.room = make([]connection, size), make([]*connection, size)
	last := &lastHead{}
	for i := range p.connections {
		c := &p.connections[i]
		c.index, c.fd, c.response.last = i, -1, last
	}
	for i := size - 1; i >= p.initial; i-- { // the last of `closed` is taken first
		p.closed = append(p.closed, &p.connections[i])
	}
	return p, nil
}

// slots is how many requests one connection carries at a time besides pipelining.
func (p *Plan) slots() int {
	if p.Protocol == transport.HTTP1 {
		return 1
	}
	return p.Streams
}

// portion is the share of a whole number that falls to one of several threads.
func portion(whole, threads, thread int) int {
	part := whole / threads
	if thread < whole%threads {
		part++
	}
	return part
}

// open begins to connect, without waiting. The error is that of an attempt that failed at once.
func (p *pool) open(c *connection) error {
	c.generation++
	fd, err := p.targets[c.index%len(p.targets)].dial()
	if err == nil {
		if err = p.poller.add(fd, c.index, c.generation); err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		c.fd = -1
		p.shut(c)
		return err
	}
	c.fd, c.state = fd, connecting
	return nil
}

// drop closes the socket; the caller opens a new one.
func (p *pool) drop(c *connection) {
	if p.single && len(c.under) == 0 {
		// The answer is here: leave no socket in TIME_WAIT, or the local ports run out after seconds.
		_ = unix.SetsockoptLinger(c.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
	_ = unix.Close(c.fd)
	c.fd, c.pending = -1, c.pending[:0]
}

// shut lets the next request that finds no other connection open this one.
func (p *pool) shut(c *connection) {
	c.state = closed
	p.closed = append(p.closed, c)
}

// release lets a connection take the next request, if it has room.
func (p *pool) release(c *connection) {
	c.state = open
	if !c.queued && len(c.under) < p.depth {
		c.queued = true
		p.room[(p.head+p.count)%len(p.room)] = c
		p.count++
	}
}

// take returns a connection for a request: one with room, or one to be connected for it; nil if all are in use.
func (p *pool) take() *connection {
	for p.count > 0 {
		c := p.room[p.head]
		if p.head++; p.head == len(p.room) {
			p.head = 0
		}
		p.count--
		c.queued = false
		if c.state == open { // else it broke while it stood in the queue
			return c
		}
	}
	if last := len(p.closed) - 1; last >= 0 {
		c := p.closed[last]
		p.closed = p.closed[:last]
		return c
	}
	return nil
}

// event returns the connection an event is about, nil if it is about a socket that is gone.
func (p *pool) event(e unix.EpollEvent) *connection {
	if p.calls != nil { // the only event then: calls have ended
		return nil
	}
	if c := &p.connections[e.Fd]; c.generation == e.Pad && c.fd >= 0 {
		return c
	}
	return nil
}

func (p *pool) close() {
	if p.calls != nil {
		p.calls.close()
	}
	for i := range p.connections {
		if c := &p.connections[i]; c.fd >= 0 {
			p.drop(c)
		}
	}
	p.poller.close()
}

// connect opens the first connections and waits until the last of them is made or refused; some have to be made.
func (w *worker) connect(deadline time.Time) error {
	p := w.pool
	if p.calls != nil {
		return p.calls.connect(p, time.Until(deadline))
	}
	var last error
	for i := range p.initial {
		if err := p.open(&p.connections[i]); err != nil {
			last = err
		}
	}
	given := len(p.connections) - p.initial
	for p.count+len(p.closed)-given < p.initial && time.Now().Before(deadline) {
		for _, event := range p.poller.wait(10e6) {
			if c := p.event(event); c != nil {
				if err := connected(c.fd); err != nil {
					last = err
				}
				w.handle(c, event.Events)
			}
		}
	}
	if p.count == 0 && p.initial > 0 {
		return errors.Join(errors.New("no connection was accepted"), last)
	}
	return nil
}
