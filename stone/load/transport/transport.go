// Package transport carries requests over everything but plain HTTP/1.1, which the load generator's own epoll
// loop drives: HTTP/1.1 over TLS, HTTP/2 (TLS and prior knowledge), gRPC and ZeroMQ.
//
// A Dialer is made once for a run. Each Caller from it is one connection to one address. Whatever the
// protocol, a request comes as the bytes of one HTTP/1.1 request, so that workloads and scripts need not know
// how they travel; only a ZeroMQ request is the message itself. Requests are never repeated, unless the server has reported that it did not process them.
package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Protocols that a Dialer speaks.
const (
	HTTP1 = "http/1.1"
	HTTP2 = "http/2"
	GRPC  = "grpc"
	ZMQ   = "zmq" // a REQ socket
)

// Protocols are all of them.
var Protocols = []string{HTTP1, HTTP2, GRPC, ZMQ}

// Schemes are those of the targets that a protocol can have, without TLS and with it.
func Schemes(protocol string) []string {
	if protocol == ZMQ {
		return []string{"tcp"}
	}
	return []string{"http", "https"}
}

// Settings are the protocol, addresses and options of connections; they are the same for all of a run.
type Settings struct {
	Protocol      string        // one of Protocols
	Target        string        // scheme://host[:port]; https is TLS, and its host is what a certificate must be for
	TLS           TLS           // with https only
	Descriptors   string        // gRPC: path of a FileDescriptorSet; empty: ask the server (reflection)
	Timeout       time.Duration // for making a connection, more than 0; a call's own is its context's deadline
	NewPerRequest bool          // HTTP/1.1: a connection for each call, which counts its set-up
	Limit         int64         // bytes of a body to keep, the rest is counted; 0: keep neither body nor header
}

// TLS names the trusted certificates. They are checked unless Insecure is set.
type TLS struct {
	CA         string `json:"ca"`          // path of the authorities' certificates (PEM); empty: the system's
	ServerName string `json:"server_name"` // the name that the certificate must be for; empty: the target's host
	Insecure   bool   `json:"insecure"`    // accept any certificate
}

// Answer is what came back, whole.
type Answer struct {
	Status int    // of HTTP; 200 for a gRPC call that went well
	Header []byte // "Name: value\r\n" lines; empty if Settings.Limit is 0
	Body   []byte // its first Settings.Limit bytes; of gRPC the message as JSON
	Size   int64  // bytes of the body, kept or not; of gRPC those of the message as it travelled
	Detail string // with an error only: what is known of it in full, to show as an example
}

// Caller is one connection. If it is not there, or lost, the next call makes it.
type Caller interface {
	// Connect makes the connection before any call, and for gRPC learns the server's methods if that was not done before.
	// Its error tells all in words; KindOf is what to count it as.
	Connect(ctx context.Context) error
	// Call sends one request and waits for the whole answer, until the context's deadline. HTTP/2 and gRPC take
	// many calls at a time, HTTP/1.1 and ZeroMQ one after another. Its error is an Error, which can be compared and counted;
	// any status is an answer, not an error.
	Call(ctx context.Context, request []byte) (Answer, error)
	// Close ends the connection and the calls under way. No call may follow.
	Close() error
}

// Dialer makes the connections of a run.
type Dialer struct {
	settings Settings
	scheme   string
	host     string      // host[:port] of the target, the :authority of requests
	config   *tls.Config // nil without TLS
	schema   *schema     // set for gRPC only
	counts   connects
	tried    atomic.Bool // with a connection for each call: one has been made, to see whether that works
}

// New checks the settings and reads the files they name. Its errors are for the author of the settings.
func New(settings Settings) (*Dialer, error) {
	target, err := url.Parse(settings.Target)
	if err != nil || !slices.Contains(Schemes(settings.Protocol), target.Scheme) || target.Hostname() == "" {
		return nil, fmt.Errorf("target: %q is no address; give one such as https://127.0.0.1:8443", settings.Target)
	}
	if settings.Timeout <= 0 {
		return nil, fmt.Errorf("timeout: %v is not above 0", settings.Timeout)
	}
	d := &Dialer{settings: settings, scheme: target.Scheme, host: target.Host}
	switch settings.Protocol {
	case HTTP1, HTTP2, ZMQ:
	case GRPC:
		if d.schema, err = newSchema(settings.Descriptors); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("protocol: %q is not known; give one of %s", settings.Protocol, strings.Join(Protocols, ", "))
	}
	switch {
	case settings.Protocol != HTTP1 && settings.NewPerRequest:
		return nil, fmt.Errorf("protocol: %s keeps its connections; only %s has a new one for each call", settings.Protocol, HTTP1)
	case settings.Protocol != GRPC && settings.Descriptors != "":
		return nil, fmt.Errorf("descriptors: %s has none; leave them out, or give protocol %s", settings.Protocol, GRPC)
	case target.Scheme == "https":
		d.config, err = tlsConfig(settings.TLS, target.Hostname(), settings.Protocol)
	case settings.TLS != TLS{}:
		err = errors.New("tls: the target is http://; leave tls out, or give an https:// target")
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Caller returns a connection to one address (host:port) that is still to be made.
func (d *Dialer) Caller(address string) (Caller, error) {
	switch d.settings.Protocol {
	case HTTP1:
		return newHTTP1(d, address), nil
	case HTTP2:
		return newHTTP2(d, address), nil
	case ZMQ:
		return newREQ(d, address), nil
	}
	return newRPC(d, address)
}

// Dial returns a connection that is made.
func (d *Dialer) Dial(ctx context.Context, address string) (Caller, error) {
	ctx, cancel := context.WithTimeout(ctx, d.settings.Timeout)
	defer cancel()
	caller, err := d.Caller(address)
	if err != nil {
		return nil, err
	}
	if err := caller.Connect(ctx); err != nil {
		_ = caller.Close()
		return nil, err
	}
	return caller, nil
}

// Check says whether a request can be sent at all: for gRPC that its method is known, takes one message and
// gives one, and that its body is that message. Without a descriptor file it needs a Dial before it.
func (d *Dialer) Check(request []byte) error {
	switch d.settings.Protocol {
	case HTTP1, ZMQ:
		return nil // sent as it is
	case HTTP2:
		_, _, err := d.parse(request)
		return err
	}
	_, err := d.schema.prepare(request)
	return err
}
