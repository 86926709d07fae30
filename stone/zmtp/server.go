package zmtp

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	handshakeTimeout = 10 * time.Second
	replyTimeout     = 10 * time.Second // for a peer to accept a reply; the connection of one that does not read ends
)

var longAgo = time.Unix(1, 0)

// Handler makes the reply to one request, both without their envelope. err is TooLarge where the request exceeds the limit, and
// nothing of it is there.
type Handler func(ctx context.Context, request Message, err error) Message

// Server is a REP or a ROUTER socket that listens. A REP socket handles one request at a time, those of all its peers in turn;
// a ROUTER those of different peers at once, and those of one peer in their order.
type Server struct {
	kind    Kind
	limit   int
	handle  Handler
	turn    chan struct{} // turn of a REP; waiters get it in the order in which they came
	context context.Context
	cancel  context.CancelFunc

	counts      Counts
	mutex       sync.Mutex
	connections map[net.Conn]bool
	stopping    bool
	group       sync.WaitGroup
}

// Counts are of what a server's peers do wrong.
type Counts struct {
	Malformed *atomic.Int64 // connections and messages that did not keep to the protocol
	Oversized *atomic.Int64 // messages that were too large
	Lost      *atomic.Int64 // replies that their peer did not take
}

// NewServer makes a socket of kind Rep or Router, whose requests have at most limit bytes.
func NewServer(kind Kind, limit int, handle Handler, counts Counts) *Server {
	s := &Server{kind: kind, limit: limit, handle: handle, counts: counts, connections: map[net.Conn]bool{}}
	if kind == Rep {
		s.turn = make(chan struct{}, 1)
	}
	s.context, s.cancel = context.WithCancel(context.Background())
	return s
}

// Serve accepts peers until the listener is closed; that of Stop is no error.
func (s *Server) Serve(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		var temporary interface{ Temporary() bool }
		switch {
		case err == nil:
			if s.add(conn) {
				go s.serve(conn)
			}
		case errors.As(err, &temporary) && temporary.Temporary() && !s.ending(): // out of file descriptors, for one
			time.Sleep(50 * time.Millisecond)
		case s.ending():
			return nil
		default:
			return err
		}
	}
}

func (s *Server) ending() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.stopping
}

func (s *Server) add(conn net.Conn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stopping {
		_ = conn.Close()
		return false
	}
	s.connections[conn] = true
	s.group.Add(1)
	return true
}

func (s *Server) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		s.mutex.Lock()
		defer s.mutex.Unlock()
		delete(s.connections, conn)
		s.group.Done()
	}()
	s.allow(conn, time.Now().Add(handshakeTimeout))
	peer, err := Open(conn, s.kind, s.limit)
	s.allow(conn, time.Time{})
	for err == nil {
		err = s.next(peer, conn)
	}
	var malformed Error
	if errors.As(err, &malformed) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.counts.Malformed.Add(1)
	}
}

// allow sets a connection's deadline, but never in place of the one with which Stop has ended its reading.
func (s *Server) allow(conn net.Conn, until time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.stopping {
		_ = conn.SetDeadline(until)
	}
}

// next serves one request of a peer. The reply is sent out of turn: a peer that reads slowly keeps only itself waiting.
func (s *Server) next(peer *Conn, conn net.Conn) error {
	message, err := peer.Read()
	if err != nil && err != TooLarge {
		if err == FarTooLarge {
			s.counts.Oversized.Add(1)
		}
		return err
	}
	envelope, request, whole := unwrap(message)
	if !whole {
		s.counts.Malformed.Add(1)
		return nil // a socket of libzmq drops it too
	}
	if err != nil {
		s.counts.Oversized.Add(1)
		request = nil
	}
	reply := s.inTurn(request, err)
	_ = conn.SetWriteDeadline(time.Now().Add(replyTimeout))
	defer func() { _ = conn.SetWriteDeadline(time.Time{}) }() // else a ping of later would find it passed
	if err := peer.Write(append(envelope, reply...)); err != nil {
		s.counts.Lost.Add(1)
		return err
	}
	return nil
}

func (s *Server) inTurn(request Message, err error) Message {
	if s.turn != nil {
		s.turn <- struct{}{}
		defer func() { <-s.turn }()
	}
	return s.handle(s.context, request, err)
}

// unwrap cuts a message after its first empty frame.
func unwrap(message Message) (envelope, request Message, whole bool) {
	for i, frame := range message {
		if len(frame) == 0 {
			return message[: i+1 : i+1], message[i+1:], len(message) > i+1
		}
	}
	return nil, nil, false
}

// Stop lets requests under way end, for as long as timeout at most, and closes all connections. The listener is the caller's
// to close afterwards: Serve accepts no peer any more.
func (s *Server) Stop(timeout time.Duration) {
	s.mutex.Lock()
	s.stopping = true
	for conn := range s.connections {
		_ = conn.SetReadDeadline(longAgo)
	}
	s.mutex.Unlock()
	ended := make(chan struct{})
	go func() {
		s.group.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(timeout):
	}
	s.cancel()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for conn := range s.connections {
		_ = conn.Close()
	}
}
