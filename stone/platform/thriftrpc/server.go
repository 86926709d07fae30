// Package thriftrpc holds what every Thrift server and client of an application has in common: framed transport, binary
// protocol, as the published applications use them.
package thriftrpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

// largestFrame bounds one message. The largest that an application sends is a picture.
const largestFrame = 128 << 20

var settings = &thrift.TConfiguration{MaxMessageSize: largestFrame, MaxFrameSize: largestFrame}

// buffered is as much of a message as goes out in one write, and comes in by one read: more than ten posts. One that
// arrives in two packets wakes its reader twice.
const buffered = 16 << 10

func newProtocol(connection net.Conn) thrift.TProtocol {
	stream := thrift.NewStreamTransport(bufio.NewReaderSize(connection, buffered), bufio.NewWriterSize(connection, buffered))
	return thrift.NewTBinaryProtocolConf(thrift.NewTFramedTransportConf(stream, settings), settings)
}

func init() {
	// A goroutine a call, to see a caller go away sooner: dearer than what it could save.
	thrift.ServerConnectivityCheckInterval = 0
}

// Server serves one processor until it is stopped.
type Server struct {
	processor thrift.TProcessor
	log       *slog.Logger
	mutex     sync.Mutex
	stopping  bool
	listener  net.Listener
	peers     map[*peer]struct{}
	serving   sync.WaitGroup
}

// handlerTimeout ends what a handler waits for, a store that does not answer for one, while its caller still listens.
const handlerTimeout = callTimeout - time.Second

// NewServer makes a server. The middleware is around all else. A handler that panics answers an INTERNAL_ERROR and is logged; so does an error that the
// service does not declare, which comes from a store or a neighbour.
func NewServer(processor thrift.TProcessor, log *slog.Logger, middleware ...thrift.ProcessorMiddleware) *Server {
	guarded := thrift.WrapProcessor(processor, append(middleware, guard(log), bound)...)
	return &Server{processor: guarded, log: log, peers: make(map[*peer]struct{})}
}

// Serve accepts connections until the listener fails or Stop closes it; then it returns nil.
func (s *Server) Serve(listener net.Listener) error {
	s.mutex.Lock()
	s.listener = listener
	stopped := s.stopping
	s.mutex.Unlock()
	if stopped {
		_ = listener.Close()
	}
	for {
		connection, err := listener.Accept()
		var temporary interface{ Temporary() bool }
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.As(err, &temporary) && temporary.Temporary(): // out of file descriptors, for one
			s.log.Warn("accept failed", "error", err.Error())
			time.Sleep(50 * time.Millisecond)
			continue
		case err != nil:
			return err
		}
		s.begin(connection)
	}
}

// Stop lets the calls in flight end, but not longer than patience, and closes every connection.
func (s *Server) Stop(patience time.Duration) {
	s.mutex.Lock()
	s.stopping = true
	if s.listener != nil {
		_ = s.listener.Close()
	}
	for one := range s.peers {
		one.closeIdle()
	}
	s.mutex.Unlock()
	late := time.AfterFunc(patience, func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		for one := range s.peers {
			_ = one.Close()
		}
	})
	defer late.Stop()
	s.serving.Wait()
}

func (s *Server) begin(connection net.Conn) {
	one := &peer{Conn: connection}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stopping {
		_ = connection.Close()
		return
	}
	s.peers[one] = struct{}{}
	s.serving.Go(func() {
		s.converse(one)
		_ = one.Close()
		s.mutex.Lock()
		defer s.mutex.Unlock()
		delete(s.peers, one)
	})
}

// converse answers the calls of one connection, one after the other.
func (s *Server) converse(one *peer) {
	protocol := newProtocol(one)
	for one.rest() {
		// An error of a handler was sent to the caller; it does not end the connection.
		if whole, _ := s.processor.Process(context.Background(), protocol, protocol); !whole {
			return
		}
	}
}

// peer is a connection that knows whether a call is in flight on it.
type peer struct {
	net.Conn
	mutex  sync.Mutex
	busy   bool
	ending bool
}

// Read counts as the beginning of a call.
func (p *peer) Read(into []byte) (int, error) {
	n, err := p.Conn.Read(into)
	if n > 0 {
		p.mutex.Lock()
		p.busy = true
		p.mutex.Unlock()
	}
	return n, err
}

// rest marks the connection idle; false if it is to end.
func (p *peer) rest() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.busy = false
	return !p.ending
}

// closeIdle closes the connection now, or has it end after the call in flight.
func (p *peer) closeIdle() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.ending = true
	if !p.busy {
		_ = p.Close()
	}
}

// guard answers a panic as an error; the arguments were read whole before a handler begins.
func guard(log *slog.Logger) thrift.ProcessorMiddleware {
	return func(name string, next thrift.TProcessorFunction) thrift.TProcessorFunction {
		process := func(ctx context.Context, sequence int32, in, out thrift.TProtocol) (whole bool, failed thrift.TException) {
			defer func() {
				if cause := recover(); cause != nil {
					log.Error("handler panicked", "method", name, "cause", fmt.Sprint(cause))
					whole, failed = answer(ctx, out, name, sequence, fmt.Sprintf("%s: %v", name, cause))
				}
			}()
			return next.Process(ctx, sequence, in, out)
		}
		return thrift.WrappedTProcessorFunction{Wrapped: process}
	}
}

// bound gives the handlers their deadline.
func bound(_ string, next thrift.TProcessorFunction) thrift.TProcessorFunction {
	process := func(ctx context.Context, sequence int32, in, out thrift.TProtocol) (bool, thrift.TException) {
		ctx, cancel := context.WithTimeout(ctx, handlerTimeout)
		defer cancel()
		return next.Process(ctx, sequence, in, out)
	}
	return thrift.WrappedTProcessorFunction{Wrapped: process}
}

func answer(ctx context.Context, out thrift.TProtocol, name string, sequence int32, problem string) (bool, thrift.TException) {
	failure := thrift.NewTApplicationException(thrift.INTERNAL_ERROR, problem)
	err := errors.Join(
		out.WriteMessageBegin(ctx, name, thrift.EXCEPTION, sequence),
		failure.Write(ctx, out),
		out.WriteMessageEnd(ctx),
		out.Flush(ctx),
	)
	return err == nil, failure
}
