package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tlsConfig is the TLS of all connections; for HTTP/2 and gRPC it offers h2 in the handshake (ALPN).
func tlsConfig(given TLS, host, protocol string) (*tls.Config, error) {
	config := &tls.Config{ServerName: given.ServerName, InsecureSkipVerify: given.Insecure, NextProtos: []string{"h2"}}
	if config.ServerName == "" {
		config.ServerName = host
	}
	if protocol == HTTP1 {
		config.NextProtos = []string{"http/1.1"}
	}
	if given.CA != "" {
		text, err := os.ReadFile(given.CA)
		if err != nil {
			return nil, fmt.Errorf("tls.ca: cannot read the authorities' certificates: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("tls.ca: %s holds no certificate; give a PEM file", given.CA)
		}
	}
	return config, nil
}

// Between the attempts to connect of one connection lies a rest, which doubles until a whole answer comes: a server that
// accepts and closes would else have as many connections as it can close.
const (
	ShortestRest = 10 * time.Millisecond
	LongestRest  = 500 * time.Millisecond
)

// connector makes the connections of one Caller, one after another.
type connector struct {
	dialer  net.Dialer
	address string
	config  *tls.Config // nil without TLS
	counts  *connects

	shortest, longest time.Duration // bounds of the back-off
	latest            time.Time     // when the latest attempt began
	rest              time.Duration // between it and the next one
	failed            error         // why it failed; nil if it did not
	answered          atomic.Bool   // a whole answer has come since
}

// connects counts the attempts of all connections to connect.
type connects struct{ all, failed atomic.Int64 }

// Connects is how many attempts to connect there were so far, and how many of them failed.
func (d *Dialer) Connects() (all, failed int64) {
	return d.counts.all.Load(), d.counts.failed.Load()
}

// connector's sessions are resumed when a lost connection is made again, as any client does; but with a
// connection for each call every call is to be a stranger's, and has its own attempt at once.
func (d *Dialer) connector(address string) *connector {
	c := &connector{address: address, config: d.config, counts: &d.counts, dialer: net.Dialer{KeepAlive: -1}}
	switch {
	case d.settings.Protocol == ZMQ:
		c.shortest, c.longest = reconnectAfter, reconnectAfter
	case !d.settings.NewPerRequest:
		c.shortest, c.longest = ShortestRest, LongestRest
	}
	c.dialer.Control = func(_, _ string, raw syscall.RawConn) error {
		return giveUpAfter(raw, d.settings.Timeout.Milliseconds())
	}
	if d.config != nil && !d.settings.NewPerRequest {
		c.config = d.config.Clone()
		c.config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}
	return c
}

// giveUpAfter has the kernel break a connection whose bytes are not acknowledged for so long: streams of HTTP/2 and
// gRPC would else time out one after another on a connection whose other end is gone.
func giveUpAfter(raw syscall.RawConn, ms int64) (err error) {
	failed := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(max(ms, 1)))
	})
	if failed != nil {
		return failed
	}
	return err
}

// connect rests first if the latest connection came to nothing, then opens a TCP connection, with TLS if configured.
// Every error is an Error or a failure.
func (c *connector) connect(ctx context.Context) (conn net.Conn, _ error) {
	if c.answered.Swap(false) {
		c.rest = 0
	}
	select {
	case <-time.After(time.Until(c.latest.Add(c.rest))):
	case <-ctx.Done():
		if c.failed != nil {
			return nil, c.failed
		}
		return nil, unconnected(ctx.Err())
	}
	c.latest, c.rest = time.Now(), min(max(2*c.rest, c.shortest), c.longest)
	c.counts.all.Add(1)
	if conn, c.failed = c.attempt(ctx); c.failed != nil {
		c.counts.failed.Add(1)
	}
	return conn, c.failed
}

func (c *connector) attempt(ctx context.Context) (net.Conn, error) {
	plain, err := c.dialer.DialContext(ctx, "tcp", c.address)
	if err != nil {
		return nil, unconnected(err)
	}
	if c.config == nil {
		return plain, nil
	}
	conn := tls.Client(plain, c.config)
	if err = conn.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		return nil, &failure{kindOf(err, handshakeKind), err}
	}
	if c.config.NextProtos[0] == "h2" && conn.ConnectionState().NegotiatedProtocol != "h2" {
		_ = plain.Close()
		return nil, noHTTP2
	}
	return conn, nil
}

func unconnected(err error) error {
	kind := kindOf(err, connectKind)
	if kind == Timeout {
		kind = ConnectTimeout
	}
	return &failure{kind, err}
}
