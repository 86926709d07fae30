package load

import (
	"container/heap"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/request"
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
	answered   bool             // its socket has carried a whole answer
	rest       int64            // ns between its last failed socket and the next one
	ready      int64            // when that may be opened
	queued     bool             // it stands in the queue of those with room
	under      []*exchange      // under way, oldest first
	pending    []byte           // what the socket has not taken yet of the requests
	response   request.Response // to the oldest exchange
	delay      int64            // the own delay (own.go) of the latest request on it
}

// Policies of a pool.
const (
	fixedPolicy   = "fixed"   // so many connections from beginning to end
	growingPolicy = "growing" // more are opened when none has room
	newPolicy     = "new"     // one for each request
)

// Between two sockets of a connection that came to nothing lies a rest, as between those of other transports.
const (
	shortestRest = int64(transport.ShortestRest)
	longestRest  = int64(transport.LongestRest)
)

// pool is the connections of one thread.
type pool struct {
	thread      int // its number, from which addresses are dealt out
	targets     []address
	sources     []unix.Sockaddr // to send from; none: the kernel's choice
	poller      *poller
	calls       *calls // instead of sockets; nil for plain HTTP/1.1
	connections []connection
	depth       int  // exchanges at a time on one connection
	single      bool // a connection is used once
	initial     int  // how many are opened before the start
	room        []*connection
	head, count int           // the circle `room`: all connections take turns, as behind a balancer they should
	closed      []*connection // to be opened for a request; the last is taken first
	resting     resting       // closed for a while
	dialled     int           // sockets opened, where each is used once
	tally       dials
	ended       bool
}

// resting is a heap of connections, the one that is ready first on top.
type resting []*connection

func (r resting) Len() int           { return len(r) }
func (r resting) Less(i, j int) bool { return r[i].ready < r[j].ready }
func (r resting) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *resting) Push(c any)        { *r = append(*r, c.(*connection)) }
func (r *resting) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

// newPool makes the part of the plan's connections that falls to one of its threads.
func newPool(plan *Plan, targets []address, thread int) (*pool, error) {
	p := &pool{thread: plan.number(thread), sources: plan.sources, depth: plan.Pipelining, single: plan.Policy == newPolicy}
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
	last := &request.LastHead{}
	for i := range p.connections {
		c := &p.connections[i]
		c.index, c.fd, c.response.Last = i, -1, last
	}
	for i := size - 1; i >= p.initial; i-- { // the last of `closed` is taken first
		p.closed = append(p.closed, &p.connections[i])
	}
	return p, nil
}

// slots is how many requests one connection carries at a time besides pipelining.
func (p *Plan) slots() int {
	if p.Protocol == transport.HTTP1 || p.Protocol == transport.ZMQ {
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
	c.answered = false
	target, source := p.route(c)
	fd, err := target.dial(source)
	p.tally.attempt(err)
	if err == nil {
		if err = p.poller.add(fd, c.index, c.generation); err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		c.fd, c.state = -1, closed
		return err
	}
	c.fd, c.state = fd, connecting
	return nil
}

// route is where a connection goes and where it comes from. A lasting connection keeps to one address; those that are
// used once take turns.
func (p *pool) route(c *connection) (target address, source unix.Sockaddr) {
	turn := p.thread + c.index
	if p.single {
		turn = p.thread + p.dialled
		p.dialled++
	}
	if target = p.targets[turn%len(p.targets)]; len(p.sources) > 0 {
		source = p.sources[turn/len(p.targets)%len(p.sources)]
	}
	return target, source
}

// drop closes the socket; the caller says what becomes of the connection.
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

// retire is shut after a socket that came to nothing: its connection rests first.
func (p *pool) retire(c *connection, now int64) {
	if p.single { // each request has one attempt
		p.shut(c)
		return
	}
	c.state = closed
	c.rest = min(max(2*c.rest, shortestRest), longestRest)
	c.ready = now + c.rest
	heap.Push(&p.resting, c)
}

// wakes is when the first of the resting connections is ready, if there is one.
func (p *pool) wakes() (at int64, any bool) {
	if len(p.resting) == 0 {
		return 0, false
	}
	return p.resting[0].ready, true
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
func (p *pool) take(now int64) *connection {
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
	for len(p.resting) > 0 && p.resting[0].ready <= now {
		p.closed = append(p.closed, heap.Pop(&p.resting).(*connection))
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
	if p.ended {
		return
	}
	p.ended = true
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

// connect opens the first connections and waits until the last of them is made or refused; some have to be made. What
// is not connected then is closed, and opened again for a request.
func (t *loadThread) connect(deadline time.Time) error {
	p := t.pool
	if p.calls != nil {
		return p.calls.connect(p, time.Until(deadline))
	}
	var last error
	waiting := 0
	for i := range p.initial {
		if err := p.open(&p.connections[i]); err != nil {
			last = err
			continue
		}
		waiting++
	}
	for waiting > 0 && time.Now().Before(deadline) {
		for _, event := range p.poller.wait(10e6) {
			c := p.event(event)
			if c == nil || c.state != connecting {
				continue // what comes after it was made is for the run
			}
			err := connected(c.fd)
			switch {
			case err != nil:
				p.tally.failed(err)
				p.drop(c)
				c.state, last = closed, err
			case event.Events&unix.EPOLLOUT == 0:
				continue
			default:
				p.release(c)
			}
			waiting--
		}
	}
	for i := range p.initial {
		switch c := &p.connections[i]; c.state {
		case connecting:
			p.tally.failed(errConnectTimeout)
			p.drop(c)
			p.shut(c)
		case closed:
			p.shut(c)
		}
	}
	if p.tally.made = p.count; p.count == 0 && p.initial > 0 {
		return errors.Join(errors.New("no connection was accepted"), last)
	}
	return nil
}
