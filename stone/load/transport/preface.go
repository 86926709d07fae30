package transport

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
)

// preface is a connection on which HTTP/2 begins. It knows when the server's settings are in force: whoever sends
// before that does not know how many streams the server takes, and gets some of them refused.
type preface struct {
	net.Conn
	begun bool          // the client has acknowledged the server's settings
	ready chan struct{} // closed then
	first []byte        // what the server has said, up to a frame's head

	once sync.Once
	lost chan struct{} // closed when the connection ends before
	why  error
}

func newPreface(conn net.Conn) *preface {
	return &preface{Conn: conn, ready: make(chan struct{}), lost: make(chan struct{})}
}

const frameHead = 9 // bytes: length (3), type, flags, stream (4)

var settingsAck = []byte{0, 0, 0, 4, 1, 0, 0, 0, 0}

func (p *preface) Write(b []byte) (int, error) {
	n, err := p.Conn.Write(b)
	if !p.begun && err == nil && bytes.Contains(b, settingsAck) {
		p.begun = true
		close(p.ready)
	}
	return n, err
}

// Read looks at the first frame, which is the server's settings: servers of other protocols are told by it.
func (p *preface) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if missing := frameHead - len(p.first); missing > 0 {
		p.first = append(p.first, b[:min(n, missing)]...)
		if len(p.first) == frameHead && p.first[3] != settingsAck[3] {
			err = notHTTP2
			if bytes.HasPrefix(p.first, []byte("HTTP/1.")) {
				err = isHTTP1
			}
			p.fail(err)
			return 0, err
		}
	}
	if err == io.EOF {
		p.fail(noAnswer)
	} else if err != nil {
		p.fail(because(err))
	}
	return n, err
}

func (p *preface) fail(err error) {
	p.once.Do(func() {
		p.why = err
		close(p.lost)
	})
}

// Close does not wait until the other side has been told, as TLS would.
func (p *preface) Close() error {
	p.fail(notHTTP2) // if nothing else was said before
	return bottom(p.Conn).Close()
}

// settle waits until requests may be sent.
func (p *preface) settle(ctx context.Context) error {
	select {
	case <-p.ready:
		return nil
	case <-p.lost:
		return p.why
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
