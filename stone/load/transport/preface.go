package transport

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
)

// preface is a connection on which HTTP/2 begins. It knows when the server's settings are in force: a client that
// sends before that does not know the server's limit of streams, and some are refused.
//
// It watches what is read alone. In the way of writes, which come from a goroutine for each call, one stack frame more
// made TLS outgrow its stack every time, for a sixth of the CPU.
type preface struct {
	net.Conn
	first []byte        // what the server has sent, up to a frame's head
	left  int           // bytes of the first frame that the client has not taken yet
	begun bool          // it has handled them
	ready chan struct{} // closed then

	once  sync.Once
	lost  chan struct{} // closed when the connection ends before
	cause error
}

func newPreface(conn net.Conn) *preface {
	return &preface{Conn: conn, ready: make(chan struct{}), lost: make(chan struct{})}
}

const (
	frameHead     = 9 // bytes: length (3), type, flags, stream (4)
	settingsFrame = 4 // a type
)

// Read recognises the protocol by the first frame. The client has handled that frame, the settings, when it
// reads what follows.
func (p *preface) Read(b []byte) (int, error) {
	if p.begun {
		return p.Conn.Read(b)
	}
	if len(p.first) == frameHead && p.left == 0 {
		p.begun = true
		close(p.ready)
		return p.Conn.Read(b)
	}
	n, err := p.Conn.Read(b)
	if wrong := p.watch(b[:n]); wrong != nil {
		p.fail(wrong)
		return 0, wrong
	}
	if err == io.EOF {
		p.fail(noAnswer)
	} else if err != nil {
		p.fail(because(err))
	}
	return n, err
}

// watch follows the first frame.
func (p *preface) watch(b []byte) error {
	if missing := frameHead - len(p.first); missing > 0 {
		taken := min(len(b), missing)
		p.first, b = append(p.first, b[:taken]...), b[taken:]
		if len(p.first) < frameHead {
			return nil
		}
		p.left = int(p.first[0])<<16 | int(p.first[1])<<8 | int(p.first[2])
	}
	p.left -= min(p.left, len(b))
	switch {
	case p.first[3] == settingsFrame:
		return nil
	case bytes.HasPrefix(p.first, []byte("HTTP/1.")):
		return isHTTP1
	}
	return notHTTP2
}

func (p *preface) fail(err error) {
	p.once.Do(func() {
		p.cause = err
		close(p.lost)
	})
}

// Close does not wait until the other side knows, as TLS would.
func (p *preface) Close() error {
	p.fail(notHTTP2) // if nothing else was sent before
	return bottom(p.Conn).Close()
}

// settle waits until requests may be sent.
func (p *preface) settle(ctx context.Context) error {
	select {
	case <-p.ready:
		return nil
	case <-p.lost:
		return p.cause
	case <-ctx.Done():
		return because(ctx.Err())
	}
}

// bottom is the TCP connection under a connection.
func bottom(conn net.Conn) net.Conn {
	if layered, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return layered.NetConn()
	}
	return conn
}
