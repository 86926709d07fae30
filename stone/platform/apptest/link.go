package apptest

import (
	"io"
	"net"
	"sync"
	"testing"

	"loadstone.dev/stone/platform/servertest"
)

// Link passes bytes on to a server, until it is cut.
type Link struct {
	Address     string // to connect to instead of the server's
	t           testing.TB
	server      string
	mutex       sync.Mutex
	listener    net.Listener
	connections []net.Conn
}

func newLink(t testing.TB, server string) *Link {
	l := &Link{t: t, Address: servertest.FreeAddress(t), server: server}
	l.Mend()
	t.Cleanup(l.Cut)
	return l
}

// Mend passes bytes on, again.
func (l *Link) Mend() {
	l.t.Helper()
	listener, err := net.Listen("tcp", l.Address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.mutex.Lock()
	l.listener = listener
	l.mutex.Unlock()
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			l.join(from)
		}
	}()
}

// Cut breaks the open connections and refuses new ones.
func (l *Link) Cut() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	_ = l.listener.Close()
	for _, connection := range l.connections {
		_ = connection.Close()
	}
	l.connections = nil
}

// Restart breaks the open connections and passes bytes on to another server: what happens to the services when theirs is
// killed, and another that kept nothing starts in its place.
func (l *Link) Restart(server string) {
	l.t.Helper()
	l.Cut()
	l.mutex.Lock()
	l.server = server
	l.mutex.Unlock()
	l.Mend()
}

func (l *Link) join(from net.Conn) {
	l.mutex.Lock()
	server := l.server
	l.mutex.Unlock()
	to, err := net.Dial("tcp", server)
	if err != nil {
		_ = from.Close()
		return
	}
	l.mutex.Lock()
	l.connections = append(l.connections, from, to)
	l.mutex.Unlock()
	go pass(from, to)
	go pass(to, from)
}

func pass(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
}
