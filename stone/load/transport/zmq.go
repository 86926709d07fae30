package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/zmtp"
)

const (
	reconnectAfter = 100 * time.Millisecond // as libzmq does by default
	largestReply   = 64 << 20
)

// req is a REQ socket of ZeroMQ: one request at a time, a new connection after a lost one. A request whose connection is lost
// fails, as one without a reply does in libzmq; one that finds no connection waits for it.
type req struct {
	connector *connector
	limit     int64
	turn      chan struct{} // holds a token while a call is under way

	mutex  sync.Mutex // guards what Close looks at
	conn   net.Conn   // nil if there is no connection
	client *zmtp.Client
	closed bool
}

func newREQ(d *Dialer, address string) *req {
	return &req{connector: d.connector(address), limit: d.settings.Limit, turn: make(chan struct{}, 1)}
}

// Call sends a message of one frame. The body of the answer is the reply's frames, one after the other.
func (c *req) Call(ctx context.Context, message []byte) (Answer, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return Answer{}, KindOf(ctx.Err())
	}
	if err := c.await(ctx); err != nil {
		return Answer{Detail: err.Error()}, KindOf(err)
	}
	conn := c.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(longAgo) })
	reply, err := c.client.Call(zmtp.Message{message})
	if !stop() || err != nil {
		c.drop()
	}
	if err != nil {
		kind := zmqKind(err)
		if kind == Timeout && ctx.Err() != nil {
			kind = KindOf(ctx.Err())
		}
		return Answer{Detail: err.Error()}, kind
	}
	c.connector.answered.Store(true)
	answer := Answer{Status: 200}
	for _, frame := range reply {
		answer.Size += int64(len(frame))
		answer.Body = append(answer.Body, frame[:min(int64(len(frame)), c.limit-int64(len(answer.Body)))]...)
	}
	return answer, nil
}

// await waits for a connection until the context ends.
func (c *req) await(ctx context.Context) error {
	if c.conn != nil && open(c.conn) {
		return nil
	}
	c.drop()
	for {
		if err := c.Connect(ctx); err == nil || errors.Is(err, Closed) || ctx.Err() != nil {
			return err
		}
	}
}

func (c *req) Connect(ctx context.Context) error {
	conn, err := c.connector.connect(ctx)
	if err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(longAgo) })
	client, err := zmtp.NewClient(conn, largestReply)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return &failure{zmqKind(err), err}
	}
	_ = conn.SetDeadline(time.Time{})
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		_ = conn.Close()
		return Closed
	}
	c.conn, c.client = conn, client
	return nil
}

// open says whether the other side has not closed the connection. A ping of it may be waiting.
func open(conn net.Conn) bool {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return false
	}
	look := []unix.PollFd{{Events: unix.POLLRDHUP}}
	err = raw.Control(func(fd uintptr) {
		look[0].Fd = int32(fd)
		_, _ = unix.Poll(look, 0)
	})
	return err == nil && look[0].Revents == 0
}

// zmqKind is what to count an error of a ZeroMQ connection as.
func zmqKind(err error) Error {
	var kind zmtp.Error
	switch {
	case errors.As(err, &kind):
		return Error(kind.Error())
	case errors.Is(err, io.EOF):
		return noAnswer
	}
	return KindOf(err)
}

// drop ends the connection; the next call makes a new one.
func (c *req) drop() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn, c.client = nil, nil
	}
}

// Close ends the connection and the call under way.
func (c *req) Close() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed = true; c.conn != nil {
		_ = c.conn.Close()
	}
	return nil
}
