package transport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	headMost = 64 << 10 // bytes of an answer's head, interim answers included
	inline   = 16 << 10 // a request of more bytes is sent while its answer is read already
)

// What the parser has to know of a request: answers to HEAD have no body.
var forHead, otherwise = &http.Request{Method: http.MethodHead}, &http.Request{Method: http.MethodGet}

// line is one HTTP/1.1 connection and its exchanges, one after another.
type line struct {
	conn     net.Conn
	raw      syscall.RawConn
	reader   *bufio.Reader
	headLeft int  // bytes that the head may still take; negative: the body is being read
	layered  bool // TLS lies between
	used     bool
	ended    bool // the other side has closed it

	poll  func(fd uintptr) // looks at the socket, without an allocation for each time
	found int16
}

func newLine(conn net.Conn) (*line, error) {
	socket := bottom(conn)
	raw, err := socket.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	l := &line{conn: conn, raw: raw, layered: socket != conn}
	l.reader = bufio.NewReader(l)
	l.poll = func(fd uintptr) {
		look := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}}
		if _, err := unix.Poll(look, 0); err == nil {
			l.found = look[0].Revents
		}
	}
	return l, nil
}

// Read is what the parser reads from: it ends a head that does not end.
func (l *line) Read(p []byte) (int, error) {
	if l.headLeft == 0 {
		return 0, longHead
	}
	if l.headLeft > 0 {
		p = p[:min(len(p), l.headLeft)]
	}
	n, err := l.conn.Read(p)
	if l.headLeft > 0 {
		l.headLeft -= n
	}
	l.ended = err == io.EOF
	return n, err
}

// quiet reports whether a request may be sent: the server has neither closed the connection nor sent bytes without a
// request. Only before the first request may TLS send data of its own (session tickets).
func (l *line) quiet() bool {
	if l.reader.Buffered() > 0 {
		return false
	}
	l.found = 0
	if err := l.raw.Control(l.poll); err != nil {
		return false
	}
	return l.found == 0 || l.found == unix.POLLIN && l.layered && !l.used
}

// exchange sends a request and reads its answer; `again` says that the connection may carry another one.
func (l *line) exchange(request []byte, limit int64) (answer Answer, again bool, err error) {
	l.used = true
	if len(request) <= inline {
		if _, err = l.conn.Write(request); err != nil {
			return answer, false, err
		}
		return l.receive(request, limit)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := l.conn.Write(request)
		sent <- err
	}()
	answer, again, err = l.receive(request, limit)
	l.interrupt() // if the request is not whole by now, its rest is not wanted
	if <-sent != nil {
		return answer, false, err
	}
	_ = l.conn.SetDeadline(time.Time{})
	return answer, again, err
}

// receive reads one whole answer.
func (l *line) receive(request []byte, limit int64) (answer Answer, again bool, err error) {
	l.headLeft = headMost
	answered := otherwise
	if bytes.HasPrefix(request, []byte("HEAD ")) {
		answered = forHead
	}
	response, err := l.head(answered)
	if err != nil {
		return answer, false, err
	}
	l.headLeft = -1
	answer.Status = response.StatusCode
	if limit > 0 {
		answer.Header = headerLines(response.Header)
	}
	answer.Body, answer.Size, err = readBody(response.Body, response.ContentLength, limit)
	if err != nil {
		return answer, false, bodyFailure(err)
	}
	return answer, !response.Close, nil
}

// head reads the head of the answer, past interim ones (1xx).
func (l *line) head(request *http.Request) (*http.Response, error) {
	if _, err := l.reader.Peek(1); err == io.EOF {
		return nil, noAnswer
	} else if err != nil {
		return nil, err
	}
	for {
		response, err := http.ReadResponse(l.reader, request)
		switch {
		case err != nil:
			return nil, l.headFailure(err)
		case response.StatusCode == http.StatusSwitchingProtocols:
			return nil, upgrade
		case response.StatusCode >= 200:
			return response, nil
		}
	}
}

// headFailure tells what is wrong with the text of an answer from what is wrong with the connection.
func (l *line) headFailure(err error) error {
	var network net.Error
	switch {
	case errors.As(err, &network), errors.Is(err, longHead):
		return err
	case l.ended: // the parser may have taken half a line for a wrong one
		return cut
	}
	return &failure{malformed, err}
}

func bodyFailure(err error) error {
	var network net.Error
	if errors.As(err, &network) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return cut
	}
	return &failure{badBody, err}
}
