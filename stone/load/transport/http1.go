package transport

import (
	"context"
	"sync"
	"time"
)

// http1 carries one call at a time; the bytes of a request go out as they are.
type http1 struct {
	dialer    *Dialer
	connector *connector
	turn      chan struct{} // holds a token while a call is under way

	mutex  sync.Mutex // guards what Close looks at
	line   *line      // nil if there is no connection
	closed bool
}

func newHTTP1(d *Dialer, address string) *http1 {
	return &http1{dialer: d, connector: d.connector(address), turn: make(chan struct{}, 1)}
}

// Connect makes a connection; where each call has its own, only once for the dialer, to see whether that works.
func (c *http1) Connect(ctx context.Context) error {
	single := c.dialer.settings.NewPerRequest
	if single && c.dialer.tried.Load() {
		return nil
	}
	_, err := c.connect(ctx)
	if err == nil && single {
		c.dialer.tried.Store(true)
		c.drop()
	}
	return err
}

// Call sends the request over the connection there is, or over a new one if that has been closed meanwhile.
func (c *http1) Call(ctx context.Context, request []byte) (Answer, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return Answer{}, KindOf(ctx.Err())
	}
	l, err := c.usable(ctx)
	if err != nil {
		return Answer{Detail: err.Error()}, KindOf(err)
	}
	stop := context.AfterFunc(ctx, l.interrupt)
	answer, again, err := l.exchange(request, c.dialer.settings.Limit)
	if !stop() || !again || c.dialer.settings.NewPerRequest {
		c.drop()
	}
	if err == nil {
		c.connector.answered.Store(true)
		return answer, nil
	}
	kind := KindOf(err)
	if kind == Timeout && ctx.Err() != nil {
		kind = KindOf(ctx.Err())
	}
	answer.Detail = err.Error()
	return answer, kind
}

// usable returns the connection, or a new one if it is gone.
func (c *http1) usable(ctx context.Context) (*line, error) {
	if l := c.line; l != nil {
		if l.quiet() {
			return l, nil
		}
		c.drop()
	}
	return c.connect(ctx)
}

func (c *http1) connect(ctx context.Context) (*line, error) {
	conn, err := c.connector.connect(ctx)
	if err != nil {
		return nil, err
	}
	l, err := newLine(conn)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case err != nil:
		_ = conn.Close()
		return nil, err
	case c.closed:
		l.close()
		return nil, Closed
	}
	c.line = l
	return l, nil
}

// drop ends the connection; the next call makes a new one.
func (c *http1) drop() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.line != nil {
		c.line.close()
		c.line = nil
	}
}

func (c *http1) Close() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed = true; c.line != nil {
		c.line.close()
	}
	return nil
}

// longAgo, as a deadline, ends reads and writes that wait.
var longAgo = time.Unix(1, 0)

func (l *line) interrupt() { _ = l.conn.SetDeadline(longAgo) }

// close does not wait until the other side knows, as TLS would.
func (l *line) close() {
	l.interrupt()
	_ = bottom(l.conn).Close()
}
