package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"sync"
	"time"

	"loadstone.dev/stone/platform/rpc"
)

const (
	// CallTimeout is how long a Backend waits for the head of an answer.
	CallTimeout = time.Minute
	// avoided is how long a replica that refused a connection is tried last, as a Thrift client does.
	avoided = 500 * time.Millisecond
)

// Backend is an HTTP service behind this one. Its replicas are called in turn, but for those that accept no connection. A
// request that may have been received is never sent again.
type Backend struct {
	name      string
	stop      func()
	transport *http.Transport
	send      http.RoundTripper // to a replica, perhaps wrapped

	mutex     sync.Mutex
	replicas  []string
	next      int
	last      map[string]time.Time // replicas that are tried last before this
	complaint error                // why the replicas cannot be listed
}

// DialHTTP prepares a client of a service's replicas: addresses, or a name in DNS, or a file that lists them, as in
// rpc.Dial. It connects on first use.
func DialHTTP(name string, addresses ...string) (*Backend, error) {
	backend := &Backend{name: name, last: map[string]time.Time{}, transport: &http.Transport{
		DialContext:           (&net.Dialer{Timeout: time.Second}).DialContext,
		MaxIdleConnsPerHost:   128,
		IdleConnTimeout:       time.Minute,
		ResponseHeaderTimeout: CallTimeout,
		DisableCompression:    true,
	}}
	backend.send = sender(backend.sendInTurn)
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
	maps.DeleteFunc(b.last, func(address string, _ time.Time) bool { return !slices.Contains(addresses, address) })
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
	order, err := b.order()
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
		b.avoid(address)
	}
	return nil, err
}

// order is the replicas in the order in which they are tried: in turn, those that refused just now last.
func (b *Backend) order() ([]string, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if len(b.replicas) == 0 {
		complaint := b.complaint
		if complaint == nil {
			complaint = errors.New("none is listed")
		}
		return nil, fmt.Errorf("%s: no replica is known: %w", b.name, complaint)
	}
	b.next = (b.next + 1) % len(b.replicas)
	now := time.Now()
	var order, last []string
	for _, address := range slices.Concat(b.replicas[b.next:], b.replicas[:b.next]) {
		if b.last[address].After(now) {
			last = append(last, address)
		} else {
			order = append(order, address)
		}
	}
	return append(order, last...), nil
}

func (b *Backend) avoid(address string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if slices.Contains(b.replicas, address) {
		b.last[address] = time.Now().Add(avoided)
	}
}

// Connected is a health check: it holds while at least one replica accepts connections.
func (b *Backend) Connected(ctx context.Context) error {
	order, err := b.order()
	for _, address := range order {
		connection, failure := b.transport.DialContext(ctx, "tcp", address)
		if failure == nil {
			return connection.Close()
		}
		err = errors.Join(err, fmt.Errorf("%s: %w", b.name, failure))
		b.avoid(address)
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
