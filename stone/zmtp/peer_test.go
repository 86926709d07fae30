package zmtp

import (
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// listening is a server of a test, with its counts.
type listening struct {
	t       *testing.T
	address string
	server  *Server
	counts  Counts
}

func listen(t *testing.T, kind Kind, limit int, handle Handler) listening {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, listener, kind, limit, handle)
}

func serve(t *testing.T, listener net.Listener, kind Kind, limit int, handle Handler) listening {
	t.Helper()
	l := listening{t: t, address: listener.Addr().String(), counts: Counts{new(atomic.Int64), new(atomic.Int64), new(atomic.Int64)}}
	l.server = NewServer(kind, limit, handle, l.counts)
	served := make(chan error, 1)
	go func() { served <- l.server.Serve(listener) }()
	t.Cleanup(func() {
		l.server.Stop(10 * time.Second)
		_ = listener.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l
}

// short is a listener of a process that is out of file descriptors for some connections.
type short struct {
	net.Listener
	failures int
}

func (s *short) Accept() (net.Conn, error) {
	if s.failures > 0 {
		s.failures--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return s.Listener.Accept()
}

func (l listening) dial() net.Conn {
	l.t.Helper()
	conn, err := net.Dial("tcp", l.address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

func (l listening) client() *Client {
	l.t.Helper()
	client, err := NewClient(l.dial(), 1<<20)
	if err != nil {
		l.t.Fatal(err)
	}
	return client
}

// eventually waits for a count.
func (l listening) eventually(count *atomic.Int64, want int64) {
	l.t.Helper()
	for deadline := time.Now().Add(time.Minute); count.Load() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("%d, want %d", count.Load(), want)
		}
	}
}

// greeting is that of a peer of version 3 with this minor number.
func greeting(minor byte) []byte {
	text := append([]byte{0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 3, minor}, "NULL"...)
	return append(text, make([]byte, greetingLength-len(text))...)
}

// raw is a peer whose bytes a test chooses.
type raw struct {
	net.Conn
	t *testing.T
}

// raw is greeted, and ready as a REQ socket.
func (l listening) raw(minor byte) raw {
	l.t.Helper()
	r := raw{l.dial(), l.t}
	r.send(append(greeting(minor), command("READY", property(nil, "Socket-Type", "REQ"))...))
	r.expect(greeting(1))
	ready := property(nil, "Socket-Type", string(l.server.kind))
	if l.server.kind == Router {
		ready = property(ready, "Identity", "")
	}
	r.expect(command("READY", ready))
	return r
}

func command(name string, body []byte) []byte {
	return appendFrame(nil, flagCommand, append(append([]byte{byte(len(name))}, name...), body...))
}

// frames are those of one message.
func frames(bodies ...string) (text []byte) {
	for i, body := range bodies {
		flags := byte(flagMore)
		if i == len(bodies)-1 {
			flags = 0
		}
		text = appendFrame(text, flags, []byte(body))
	}
	return text
}

func (r raw) send(text []byte) {
	r.t.Helper()
	if _, err := r.Write(text); err != nil {
		r.t.Fatal(err)
	}
}

func (r raw) expect(want []byte) {
	r.t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(r, got); err != nil || string(got) != string(want) {
		r.t.Fatalf("%q, %v; want %q", got[:n], err, want)
	}
}

func longHeader(flags byte, size uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{flags | flagLong}, size)
}
