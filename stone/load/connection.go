package load

import "golang.org/x/sys/unix"

type connectionState uint8

const (
	closed     connectionState = iota // the last attempt to connect failed
	connecting                        // maybe with a request that goes out as soon as it is connected
	idle
	busy
)

// connection is one of the fixed pool; it carries one request at a time.
type connection struct {
	fd, index  int
	generation int32 // counts its sockets, so that an event of an earlier one is known as such
	state      connectionState
	queued     bool   // it stands in the queue of idle connections
	loaded     bool   // it has a request to answer for, and stands in the list
	pending    []byte // what the socket has not taken yet of the request
	response   response

	// The request: when it was meant to go and when it went, ns from the start.
	at, sentAt int64
	op         int32
	measured   bool
	overdue    bool // it is past the SLO's limit, and counted as such
	earlier    *connection
	later      *connection
}

// list holds the connections with a request, in the order of sending. So the oldest is first, for timeouts as
// for the SLO: requests go out in the order of their intended times.
type list struct {
	first, last *connection
	count       int
}

func (l *list) add(c *connection) {
	c.earlier, c.later = l.last, nil
	if l.last != nil {
		l.last.later = c
	} else {
		l.first = c
	}
	l.last = c
	l.count++
}

func (l *list) remove(c *connection) {
	if c.earlier != nil {
		c.earlier.later = c.later
	} else {
		l.first = c.later
	}
	if c.later != nil {
		c.later.earlier = c.earlier
	} else {
		l.last = c.earlier
	}
	c.earlier, c.later = nil, nil
	l.count--
}

// pool is the fixed set of connections of one thread.
type pool struct {
	targets     []address
	poller      *poller
	connections []connection
	idle        []*connection // a queue in a circle: all connections take turns, as behind a balancer they should
	head, count int
	closed      []*connection
}

func newPool(targets []address, size int) (*pool, error) {
	poller, err := newPoller(size)
	if err != nil {
		return nil, err
	}
	p := &pool{targets: targets, poller: poller, connections: make([]connection, size), idle: make([]*connection, size)}
	last := &lastHead{}
	for i := range p.connections {
		c := &p.connections[i]
		c.index, c.fd, c.response.last = i, -1, last
	}
	return p, nil
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
		c.fd, c.state = -1, closed
		p.closed = append(p.closed, c)
		return err
	}
	c.fd, c.state = fd, connecting
	return nil
}

// drop closes the socket; the caller opens a new one.
func (p *pool) drop(c *connection) {
	_ = unix.Close(c.fd)
	c.fd, c.pending = -1, c.pending[:0]
}

// release makes a connection ready for the next request.
func (p *pool) release(c *connection) {
	c.state = idle
	if !c.queued {
		c.queued = true
		p.idle[(p.head+p.count)%len(p.idle)] = c
		p.count++
	}
}

// take returns a connection for a request: an idle one, or one to be connected for it; nil if all are in use.
func (p *pool) take() *connection {
	for p.count > 0 {
		c := p.idle[p.head]
		if p.head++; p.head == len(p.idle) {
			p.head = 0
		}
		p.count--
		c.queued = false
		if c.state == idle { // else it broke while it stood in the queue
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
	if c := &p.connections[e.Fd]; c.generation == e.Pad && c.fd >= 0 {
		return c
	}
	return nil
}

func (p *pool) close() {
	for i := range p.connections {
		if c := &p.connections[i]; c.fd >= 0 {
			p.drop(c)
		}
	}
	p.poller.close()
}
