// Package httpserver serves HTTP with few wake-ups. A request that arrives whole, in one packet or a few, is answered on
// the goroutine of its connection, in one write. net/http starts a goroutine beside each handler, to see its caller go
// away; that wakes another thread of an idle process, which is much of what a light request costs. Whatever is not plain
// (large or slow requests, chunks, upgrades, other methods than GET and POST) goes to net/http, with its connection.
//
// A handler's context is not canceled when the caller of a plain request goes away: calls have deadlines of their own.
package httpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Server serves one handler until it is stopped.
type Server struct {
	handler http.Handler
	log     *slog.Logger
	others  http.Server
	passed  passed

	mutex    sync.Mutex
	stopping bool
	listener net.Listener
	idle     map[net.Conn]struct{} // connections of ours that wait for a request
	serving  sync.WaitGroup
}

// headTimeout ends a connection that does not send the head of a request within it.
const headTimeout = 10 * time.Second

const headEnd = "\r\n\r\n"

// New makes a server.
func New(handler http.Handler, log *slog.Logger) *Server {
	return &Server{
		handler: handler, log: log, idle: make(map[net.Conn]struct{}), passed: newPassed(),
		others: http.Server{Handler: handler, ReadHeaderTimeout: headTimeout, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)},
	}
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
	go func() { _ = s.others.Serve(s.passed) }() // it ends when Stop says so
	for {
		connection, err := listener.Accept()
		var temporary interface{ Temporary() bool }
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.As(err, &temporary) && temporary.Temporary(): // out of file descriptors, for one
			s.log.Warn("accept failed", "error", err.Error())
			time.Sleep(50 * time.Millisecond)
		case err != nil:
			return err
		default:
			s.begin(connection)
		}
	}
}

// begin serves a connection, unless it was accepted while the server stops: nothing is added to what Stop waits for.
func (s *Server) begin(connection net.Conn) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stopping {
		_ = connection.Close()
		return
	}
	s.serving.Go(func() { s.converse(connection) })
}

// Stop lets requests in flight end, but not longer than patience, and closes every connection.
func (s *Server) Stop(patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.mutex.Lock()
	s.stopping = true
	if s.listener != nil {
		_ = s.listener.Close()
	}
	for connection := range s.idle {
		_ = connection.Close()
	}
	s.mutex.Unlock()
	ended := make(chan struct{})
	go func() { s.serving.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	if s.others.Shutdown(ctx) != nil {
		_ = s.others.Close()
	}
}

// rest notes that a connection waits for its next request; false if it is to end instead.
func (s *Server) rest(connection net.Conn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.stopping {
		s.idle[connection] = struct{}{}
	}
	return !s.stopping
}

func (s *Server) wake(connection net.Conn) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.idle, connection)
}

// converse answers the plain requests of a connection, one after the other; at the first other one it passes it on.
func (s *Server) converse(connection net.Conn) {
	reader, peer, posted := bufio.NewReader(connection), connection.RemoteAddr().String(), false
	for s.rest(connection) {
		_, err := reader.Peek(1)
		s.wake(connection)
		if err != nil {
			break
		}
		arrived, _ := reader.Peek(reader.Buffered())
		if posted { // net/http too lets old clients end a body with an empty line or two that do not count
			stray := min(4, len(arrived)-len(bytes.TrimLeft(arrived, "\r\n")))
			arrived = arrived[stray:]
			_, _ = reader.Discard(stray)
		}
		request := plain(reader, arrived)
		if request == nil {
			s.passed.pass(connection, bytes.Clone(arrived))
			return
		}
		request.RemoteAddr, posted = peer, request.Method == http.MethodPost
		if !s.answer(connection, request) {
			break
		}
	}
	_ = connection.Close()
}

// plain reads a request that has arrived whole and is one that this package answers; nil: it is not. What has arrived
// stays as it is then, for nothing more was read.
func plain(reader *bufio.Reader, arrived []byte) *http.Request {
	head := bytes.Index(arrived, []byte(headEnd))
	if head < 0 {
		return nil
	}
	request, err := http.ReadRequest(reader)
	if err != nil || request.Method != http.MethodGet && request.Method != http.MethodPost || request.Proto != "HTTP/1.1" ||
		request.Host == "" || !httpguts.ValidHostHeader(request.Host) || request.Close {
		return nil
	}
	if length := request.ContentLength; length < 0 || length > int64(len(arrived)-head-len(headEnd)) {
		return nil
	}
	for name, values := range request.Header {
		if !httpguts.ValidHeaderFieldName(name) || !ordinary(name, values) {
			return nil
		}
	}
	return request
}

// ordinary says whether a field of a head needs nothing of the server.
func ordinary(name string, values []string) bool {
	switch name {
	case "Expect", "Upgrade", "Trailer":
		return false
	case "Connection":
		return len(values) == 1 && strings.EqualFold(values[0], "keep-alive")
	}
	for _, value := range values {
		if !httpguts.ValidHeaderFieldValue(value) {
			return false
		}
	}
	return true
}

// answer says whether the connection can carry another request.
func (s *Server) answer(connection net.Conn, request *http.Request) (again bool) {
	response := newResponse(connection)
	defer response.free()
	defer func() {
		if cause := recover(); cause != nil {
			again = false
			if cause != http.ErrAbortHandler {
				s.log.Error("handler panicked", "path", request.URL.Path, "cause", fmt.Sprint(cause))
			}
		}
	}()
	s.handler.ServeHTTP(response, request)
	return response.finish() && drained(request)
}
