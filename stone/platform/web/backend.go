package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"loadstone.dev/stone/platform/rpc"
)

// CallTimeout is how long a Backend waits for the head of an answer.
const CallTimeout = time.Minute

// Backend is an HTTP service behind this one. Its replicas are called in turn, but for those that accept no connection. A
// request that may have been received is never sent again.
type Backend struct {
	name      string
	turns     *rpc.Turns
	transport *http.Transport
	send      http.RoundTripper // to a replica, perhaps wrapped
}

// DialHTTP prepares a client of a service's replicas: addresses, or a name in DNS, or a file that lists them, as in
// rpc.Dial. It connects on first use.
func DialHTTP(name string, addresses ...string) (*Backend, error) {
	backend := &Backend{name: name, transport: &http.Transport{
		DialContext:           (&net.Dialer{Timeout: time.Second}).DialContext,
		MaxIdleConnsPerHost:   128,
		IdleConnTimeout:       time.Minute,
		ResponseHeaderTimeout: CallTimeout,
		DisableCompression:    true,
	}}
	backend.send = sender(backend.sendInTurn)
	var err error
	backend.turns, err = rpc.TakeTurns(name, nil, addresses...)
	return backend, err
}

// Wrap puts something around the sending of each request, before the first.
func (b *Backend) Wrap(wrap func(http.RoundTripper) http.RoundTripper) { b.send = wrap(b.send) }

// Close lets go of the service.
func (b *Backend) Close() {
	b.turns.Close()
	b.transport.CloseIdleConnections()
}

// RoundTrip sends a request to the next replica: of its address only path and query count. Its body is the caller's to close.
func (b *Backend) RoundTrip(r *http.Request) (*http.Response, error) {
	to := r.Clone(r.Context())
	to.URL.Scheme, to.URL.Host, to.Host = "http", b.name, ""
	return b.send.RoundTrip(to)
}

type sender func(*http.Request) (*http.Response, error)

func (s sender) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// sendInTurn sends to the next replica that has a connection or accepts one.
func (b *Backend) sendInTurn(r *http.Request) (*http.Response, error) {
	sent := *r
	if r.Body != nil && r.Body != http.NoBody {
		sent.Body = io.NopCloser(r.Body) // a failed dial closes it, and another replica may yet read it
	}
	order, err := b.turns.Order()
	for _, address := range order {
		to := *sent.URL
		to.Host, sent.URL = address, &to
		response, failure := b.transport.RoundTrip(&sent)
		if failure == nil {
			return response, nil
		}
		err = errors.Join(err, fmt.Errorf("%s at %s: %w", b.name, address, failure))
		var at *net.OpError
		if !errors.As(failure, &at) || at.Op != "dial" || r.Context().Err() != nil {
			break
		}
		b.turns.Refused(address)
	}
	return nil, err
}

// Connected is a health check: it holds while at least one replica accepts connections.
func (b *Backend) Connected(ctx context.Context) error {
	order, err := b.turns.Order()
	for _, address := range order {
		connection, failure := b.transport.DialContext(ctx, "tcp", address)
		if failure == nil {
			return connection.Close()
		}
		err = errors.Join(err, fmt.Errorf("%s: %w", b.name, failure))
		b.turns.Refused(address)
	}
	return err
}

// Forward is a handler that passes requests and answers on as they come; an answer that cannot be had is 502.
func (b *Backend) Forward(site Site) http.Handler {
	return &httputil.ReverseProxy{
		Transport: b,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetXForwarded()
			r.Out.Pattern = "" // ours, not the backend's
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			problem := site.Explain(r, Problemf(http.StatusBadGateway, "%v", err))
			http.Error(w, problem.Text, problem.Status)
		},
	}
}
