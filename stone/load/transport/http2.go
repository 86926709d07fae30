package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// http2 carries many calls at a time over one connection, by net/http's client of a single connection. Calls
// beyond the server's limit of streams wait there for their turn.
type http2 struct {
	dialer    *Dialer
	connector *connector
	ended     context.Context // done once the caller is closed
	end       context.CancelFunc

	mutex   sync.Mutex
	live    *http.ClientConn // nil if there is none that takes calls
	attempt *attempt         // nil if none is under way
}

// tries is how many connections may be closed in order while one call waits for its turn on them.
const tries = 10

// attempt is the making of a connection. It is no single call's: it goes on when the call that began it gives up,
// else calls near their deadlines would break off one attempt after another.
type attempt struct {
	done chan struct{}
	conn *http.ClientConn
	err  error
}

func newHTTP2(d *Dialer, address string) *http2 {
	c := &http2{dialer: d, connector: d.connector(address)}
	c.ended, c.end = context.WithCancel(context.Background())
	return c
}

func (c *http2) Connect(ctx context.Context) (err error) {
	c.live, err = c.dial(ctx)
	return err
}

// dial makes a connection. To net/http all are plain ones, known to speak HTTP/2: TLS, and the agreement in it on the
// protocol, is there already when it gets them.
func (c *http2) dial(ctx context.Context) (*http.ClientConn, error) {
	below, err := c.connector.connect(ctx)
	if err != nil {
		return nil, err
	}
	begun := newPreface(below)
	transport := &http.Transport{
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return begun, nil },
		DisableCompression: true, MaxResponseHeaderBytes: headMost, Protocols: new(http.Protocols),
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	conn, err := transport.NewClientConn(ctx, "http", c.connector.address)
	if err != nil {
		_ = begun.Close()
		return nil, because(err)
	}
	if err := begun.settle(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// Call sends the request on a stream of its own. If the server closes the connection in order,
// and says that it has not taken this request, the call goes over a new connection.
func (c *http2) Call(ctx context.Context, request []byte) (answer Answer, err error) {
	parsed, body, err := c.dialer.parse(request)
	if err != nil {
		return answer, KindOf(err)
	}
	parsed = parsed.WithContext(ctx)
	answer, err = c.over(parsed, body)
	for n := 1; n < tries && err != nil && notTaken(err); n++ {
		answer, err = c.over(parsed, body)
	}
	if err != nil {
		answer.Detail, err = err.Error(), KindOf(err)
	}
	return answer, err
}

// over sends the request over the connection that there is now.
func (c *http2) over(request *http.Request, body []byte) (Answer, error) {
	conn, err := c.connection(request.Context())
	if err != nil {
		return Answer{}, err
	}
	answer, err := c.exchange(conn, request, body)
	if err != nil && notTaken(err) {
		c.retire(conn)
	}
	return answer, err
}

func (c *http2) exchange(conn *http.ClientConn, request *http.Request, body []byte) (answer Answer, err error) {
	if len(body) > 0 {
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	response, err := conn.RoundTrip(request)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return answer, noAnswer
	}
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	answer.Status = response.StatusCode
	limit := c.dialer.settings.Limit
	if limit > 0 {
		answer.Header = headerLines(response.Header)
	}
	if answer.Body, answer.Size, err = readBody(response.Body, response.ContentLength, limit); err == nil {
		c.connector.answered.Store(true)
	}
	return answer, err
}

// notTaken says, in net/http's words, that a connection was closed or sent away before a request: nothing of it
// has been sent, or the server has promised that it did nothing about it (GOAWAY; RFC 9113, section 6.8).
func notTaken(err error) bool {
	text := err.Error()
	return strings.HasSuffix(text, "client conn not usable") || strings.HasSuffix(text, "client conn could not be established") ||
		strings.HasSuffix(text, "received Server's graceful shutdown GOAWAY")
}

// connection returns the one there is, or makes one.
func (c *http2) connection(ctx context.Context) (*http.ClientConn, error) {
	c.mutex.Lock()
	if c.live != nil && c.live.Err() == nil {
		defer c.mutex.Unlock()
		return c.live, nil
	}
	if c.attempt == nil {
		c.attempt = &attempt{done: make(chan struct{})}
		go c.connect(c.attempt)
	}
	current := c.attempt
	c.mutex.Unlock()
	select {
	case <-current.done:
		return current.conn, current.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *http2) connect(current *attempt) {
	ctx, cancel := context.WithTimeout(c.ended, c.dialer.settings.Timeout)
	defer cancel()
	conn, err := c.dial(ctx)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err == nil && c.ended.Err() != nil {
		_ = conn.Close()
		conn, err = nil, Closed
	}
	c.live, c.attempt = conn, nil
	current.conn, current.err = conn, err
	close(current.done)
}

// retire has the next call make a new connection. What is under way on the old one goes on, and it is closed after.
func (c *http2) retire(conn *http.ClientConn) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.live == conn {
		c.live = nil
	}
	if conn.InFlight() == 0 {
		_ = conn.Close()
	}
}

func (c *http2) Close() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.end(); c.live != nil {
		return c.live.Close()
	}
	return nil
}
