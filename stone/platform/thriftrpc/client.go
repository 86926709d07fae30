package thriftrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"loadstone.dev/stone/platform/rpc"
)

const (
	// callTimeout ends a call whose caller set no deadline: what the published applications set.
	callTimeout = 10 * time.Second
	// dialTimeout is far above a connection's time to a replica that lives.
	dialTimeout = time.Second
	// avoided is how long a replica that refused a connection is tried last.
	avoided = 500 * time.Millisecond
	// mostIdle bounds the idle connections to one replica, as published.
	mostIdle = 512
)

// Client calls a service's replicas in turn, each call on a connection of its own that is kept for later ones. It is a
// thrift.TClient for generated clients, safe for concurrent use.
type Client struct {
	name      string
	stop      func()
	mutex     sync.Mutex
	replicas  []*replica
	next      int
	complaint error // why the replicas cannot be listed
}

// replica is one server; its fields are guarded by the client's mutex.
type replica struct {
	address string
	idle    []*connection // the warmest last
	until   time.Time     // tried last before this
	gone    bool
}

type connection struct {
	net.Conn
	client *thrift.TStandardClient
	of     *replica
}

// Dial prepares a client of a service's replicas: addresses, or a name in DNS, or a file that lists them, as in rpc.Dial.
// It connects when it is called.
func Dial(name string, addresses ...string) (*Client, error) {
	client := &Client{name: name}
	stop, err := rpc.Watch(client.know, client.complain, addresses...)
	client.stop = stop
	return client, err
}

// know takes the replicas that there are now.
func (c *Client) know(addresses []string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var kept []*replica
	for _, one := range c.replicas {
		if slices.Contains(addresses, one.address) {
			kept = append(kept, one)
			continue
		}
		one.gone = true
		closeAll(one.idle)
	}
	for _, address := range addresses {
		if !slices.ContainsFunc(kept, func(one *replica) bool { return one.address == address }) {
			kept = append(kept, &replica{address: address})
		}
	}
	c.replicas, c.complaint = kept, nil
}

func (c *Client) complain(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.complaint = err
}

// Call sends one call and reads its answer. Its errors: what the service declares (by the generated client),
// thrift.TApplicationException from a server that failed, and transport errors. A call that may have been received is
// never sent again.
func (c *Client) Call(ctx context.Context, method string, arguments, result thrift.TStruct) (thrift.ResponseMeta, error) {
	connection, err := c.connect(ctx)
	if err != nil {
		return thrift.ResponseMeta{}, err
	}
	deadline, set := ctx.Deadline()
	if !set {
		deadline = time.Now().Add(callTimeout)
	}
	err = connection.SetDeadline(deadline)
	if err == nil {
		_, err = connection.client.Call(ctx, method, arguments, result)
	}
	if raised, is := err.(thrift.TApplicationException); err == nil || is && raised.TypeId() == thrift.INTERNAL_ERROR {
		c.keep(connection)
	} else {
		_ = connection.Close()
		err = fmt.Errorf("%s at %s: %w", c.name, connection.of.address, err)
	}
	return thrift.ResponseMeta{}, err
}

// Connected is a health check: it holds while at least one replica accepts connections.
func (c *Client) Connected(ctx context.Context) error {
	connection, err := c.connect(ctx)
	if err == nil {
		c.keep(connection)
	}
	return err
}

// Close ends the following of replicas and closes the idle connections.
func (c *Client) Close() {
	c.stop()
	c.know(nil)
}

// connect returns a connection to the next replica that has one or accepts one.
func (c *Client) connect(ctx context.Context) (*connection, error) {
	order, complaint := c.order()
	if len(order) == 0 {
		return nil, fmt.Errorf("%s: no replica is known: %w", c.name, complaint)
	}
	var refused []error
	for _, one := range order {
		for idle := c.take(one); idle != nil; idle = c.take(one) {
			if alive(idle.Conn) {
				return idle, nil
			}
			_ = idle.Close()
		}
		dialer := net.Dialer{Timeout: dialTimeout}
		dialed, err := dialer.DialContext(ctx, "tcp", one.address)
		if err == nil {
			c.avoid(one, time.Time{})
			return newConnection(dialed, one), nil
		}
		c.avoid(one, time.Now().Add(avoided))
		refused = append(refused, err)
	}
	return nil, fmt.Errorf("%s: %w", c.name, errors.Join(refused...))
}

// order is the replicas in the order in which this call tries them: in turn, those that refused just now last.
func (c *Client) order() ([]*replica, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	count := len(c.replicas)
	if count == 0 {
		if c.complaint != nil {
			return nil, c.complaint
		}
		return nil, errors.New("none is listed")
	}
	c.next = (c.next + 1) % count
	if count == 1 {
		return c.replicas, nil
	}
	order := slices.Concat(c.replicas[c.next:], c.replicas[:c.next])
	now := time.Now()
	slices.SortStableFunc(order, func(a, b *replica) int {
		return compare(a.until.After(now), b.until.After(now))
	})
	return order, nil
}

func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

func (c *Client) avoid(one *replica, until time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	one.until = until
}

func (c *Client) take(one *replica) *connection {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	last := len(one.idle) - 1
	if last < 0 {
		return nil
	}
	warmest := one.idle[last]
	one.idle[last] = nil
	one.idle = one.idle[:last]
	return warmest
}

func (c *Client) keep(one *connection) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if one.of.gone || len(one.of.idle) >= mostIdle {
		_ = one.Close()
		return
	}
	one.of.idle = append(one.of.idle, one)
}

func newConnection(dialed net.Conn, of *replica) *connection {
	protocol := newProtocol(dialed)
	return &connection{Conn: dialed, client: thrift.NewTStandardClient(protocol, protocol), of: of}
}

func closeAll(connections []*connection) {
	for _, one := range connections {
		_ = one.Close()
	}
}
