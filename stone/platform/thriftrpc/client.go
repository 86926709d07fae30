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
	// mostIdle bounds the idle connections to one replica, as published.
	mostIdle = 512
)

// Client calls a service's replicas in turn, each call on a connection of its own that is kept for later ones. It is a
// thrift.TClient for generated clients, safe for concurrent use.
type Client struct {
	name  string
	turns *rpc.Turns
	mutex sync.Mutex
	idle  map[string][]*connection // by address of a replica; the warmest last
}

type connection struct {
	net.Conn
	client *thrift.TStandardClient
	to     string // address of the replica
}

// Dial prepares a client of a service's replicas: addresses, or a name in DNS, or a file that lists them, as in rpc.Dial.
// It connects when it is called.
func Dial(name string, addresses ...string) (*Client, error) {
	client := &Client{name: name, idle: map[string][]*connection{}}
	var err error
	client.turns, err = rpc.TakeTurns(name, client.know, addresses...)
	return client, err
}

// know takes the replicas that there are now.
func (c *Client) know(addresses []string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for address, idle := range c.idle {
		if !slices.Contains(addresses, address) {
			closeAll(idle)
			delete(c.idle, address)
		}
	}
	for _, address := range addresses {
		if _, known := c.idle[address]; !known {
			c.idle[address] = nil
		}
	}
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
		err = fmt.Errorf("%s at %s: %w", c.name, connection.to, err)
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
	c.turns.Close()
	c.know(nil)
}

// connect returns a connection to the next replica that has one or accepts one.
func (c *Client) connect(ctx context.Context) (*connection, error) {
	order, err := c.turns.Order()
	if err != nil {
		return nil, err
	}
	var refused []error
	for _, address := range order {
		for idle := c.take(address); idle != nil; idle = c.take(address) {
			if alive(idle.Conn) {
				return idle, nil
			}
			_ = idle.Close()
		}
		dialer := net.Dialer{Timeout: dialTimeout}
		dialed, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return newConnection(dialed, address), nil
		}
		c.turns.Refused(address)
		refused = append(refused, err)
	}
	return nil, fmt.Errorf("%s: %w", c.name, errors.Join(refused...))
}

func (c *Client) take(address string) *connection {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	idle := c.idle[address]
	last := len(idle) - 1
	if last < 0 {
		return nil
	}
	warmest := idle[last]
	idle[last] = nil
	c.idle[address] = idle[:last]
	return warmest
}

func (c *Client) keep(one *connection) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	idle, known := c.idle[one.to]
	if !known || len(idle) >= mostIdle {
		_ = one.Close()
		return
	}
	c.idle[one.to] = append(idle, one)
}

func newConnection(dialed net.Conn, to string) *connection {
	protocol := newProtocol(dialed)
	return &connection{Conn: dialed, client: thrift.NewTStandardClient(protocol, protocol), to: to}
}

func closeAll(connections []*connection) {
	for _, one := range connections {
		_ = one.Close()
	}
}
