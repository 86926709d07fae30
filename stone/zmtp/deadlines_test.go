package zmtp

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// timed is a connection that keeps the deadlines it was given last.
type timed struct {
	net.Conn
	mutex       sync.Mutex
	read, write time.Time
}

func (c *timed) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *timed) SetReadDeadline(t time.Time) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.read = t
	return c.Conn.SetReadDeadline(t)
}

func (c *timed) SetWriteDeadline(t time.Time) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.write = t
	return c.Conn.SetWriteDeadline(t)
}

// pair is two ends of a connection.
func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if far, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })
	if near, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return near, far
}

func TestStopEndsAConnectionThatIsAboutToBeServed(t *testing.T) {
	server := NewServer(Rep, 1<<20, echo, Counts{new(atomic.Int64), new(atomic.Int64), new(atomic.Int64)})
	near, _ := pair(t)
	conn := &timed{Conn: near}
	server.add(conn)
	stopped := make(chan struct{})
	go func() {
		server.Stop(time.Minute)
		close(stopped)
	}()
	for !server.ending() {
		time.Sleep(time.Millisecond)
	}
	server.serve(conn)
	<-stopped
	if conn.read != longAgo {
		t.Errorf("Stop's deadline was replaced by %v", conn.read)
	}
}

func TestTheTimeOfAReplyEndsWithTheReply(t *testing.T) {
	near, far := pair(t)
	conn := &timed{Conn: near}
	seen := func(_ context.Context, request Message, _ error) Message {
		conn.mutex.Lock()
		defer conn.mutex.Unlock()
		if !conn.write.IsZero() {
			t.Errorf("a deadline of another reply is in force: %v", conn.write)
		}
		return request
	}
	server := NewServer(Rep, 1<<20, seen, Counts{new(atomic.Int64), new(atomic.Int64), new(atomic.Int64)})
	server.add(conn)
	go server.serve(conn)
	client, err := NewClient(far, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	call(t, client, "first")
	call(t, client, "second")
	server.Stop(time.Minute)
}
