package httpserver

import (
	"bytes"
	"io"
	"net"
	"sync"
)

// passed are connections for net/http, as a listener.
type passed struct {
	connections chan net.Conn
	closed      chan struct{}
	close       func()
}

func newPassed() passed {
	closed := make(chan struct{})
	return passed{make(chan net.Conn), closed, sync.OnceFunc(func() { close(closed) })}
}

// pass hands a connection on, before whose further bytes stand those that have arrived.
func (p passed) pass(connection net.Conn, arrived []byte) {
	begun := &begun{Conn: connection, reader: io.MultiReader(bytes.NewReader(arrived), connection)}
	select {
	case p.connections <- begun:
	case <-p.closed:
		_ = connection.Close()
	}
}

func (p passed) Accept() (net.Conn, error) {
	select {
	case connection := <-p.connections:
		return connection, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p passed) Close() error {
	p.close()
	return nil
}

// Addr is of no use here.
func (p passed) Addr() net.Addr { return &net.TCPAddr{} }

// begun is a connection of which some has been read.
type begun struct {
	net.Conn
	reader io.Reader
}

func (b *begun) Read(into []byte) (int, error) { return b.reader.Read(into) }
