package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"loadstone.dev/stone/platform/rpc"
)

// CallTimeout is how long a Backend waits for the head of an answer.
const CallTimeout = time.Minute

// Backend is an HTTP service behind this one. Its replicas are called in turn.
type Backend struct {
	name      string
	stop      func()
	transport *http.Transport
	send      http.RoundTripper // the transport, perhaps wrapped

	mutex     sync.Mutex
	replicas  []string
	next      int
	complaint error // why the replicas cannot be listed
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
	backend.send = backend.transport
	stop, err := rpc.Watch(backend.know, backend.complain, addresses...)
	backend.stop = stop
	return backend, err
}

// Wrap puts something around the sending of each request, before the first.
func (b *Backend) Wrap(wrap func(http.RoundTripper) http.RoundTripper) { b.send = wrap(b.send) }

func (b *Backend) know(addresses []string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.replicas, b.complaint = addresses, nil
}

func (b *Backend) complain(err error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.complaint = err
}

// Close lets go of the service.
func (b *Backend) Close() {
	b.stop()
	b.transport.CloseIdleConnections()
}

// RoundTrip sends a request to the next replica: of its address only path and query count.
func (b *Backend) RoundTrip(r *http.Request) (*http.Response, error) {
	address, err := b.pick()
	if err != nil {
		return nil, err
	}
	to := r.Clone(r.Context())
	to.URL.Scheme, to.URL.Host, to.Host = "http", address, ""
	response, err := b.send.RoundTrip(to)
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", b.name, address, err)
	}
	return response, nil
}

func (b *Backend) pick() (string, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if len(b.replicas) == 0 {
		complaint := b.complaint
		if complaint == nil {
			complaint = errors.New("none is listed")
		}
		return "", fmt.Errorf("%s: no replica is known: %w", b.name, complaint)
	}
	b.next = (b.next + 1) % len(b.replicas)
	return b.replicas[b.next], nil
}

// Connected is a health check: it holds while the next replica accepts connections.
func (b *Backend) Connected(ctx context.Context) error {
	address, err := b.pick()
	if err != nil {
		return err
	}
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("%s: %w", b.name, err)
	}
	return connection.Close()
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
