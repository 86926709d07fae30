package transport

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var overTLS = []kind{{"http/1.1", HTTP1, "https"}, {"http/2", HTTP2, "https"}, {"grpc", GRPC, "https"}}

// shake listens with TLS of this configuration, and says no more than how HTTP/2 begins.
func shake(t testing.TB, config *tls.Config) *counted {
	return listen(t).each(func(conn net.Conn) {
		secure := tls.Server(conn, config)
		if secure.Handshake() == nil {
			_, _ = secure.Write(frame(settings, 0, 0))
			_, _ = io.Copy(io.Discard, secure)
		}
	})
}

// Every fault of a certificate is reported when the connection is opened, with its remedy.
func TestCertificates(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	for name, c := range map[string]struct {
		certificate tls.Certificate
		given       TLS
		want        Error
	}{
		"good":              {ca.good(t), TLS{CA: ca.file}, ""},
		"unknown authority": {ca.good(t), TLS{}, unknownCA},
		"another authority": {ca.good(t), TLS{CA: other.file}, unknownCA},
		"insecure":          {ca.good(t), TLS{Insecure: true}, ""},
		"expired":           {ca.leaf(t, time.Now().Add(-time.Minute)), TLS{CA: ca.file}, expired},
		"another name":      {ca.leaf(t, time.Now().Add(time.Hour), "example.test"), TLS{CA: ca.file}, otherName},
		"the name given":    {ca.leaf(t, time.Now().Add(time.Hour), "example.test"), TLS{CA: ca.file, ServerName: "example.test"}, ""},
		"a name not its":    {ca.good(t), TLS{CA: ca.file, ServerName: "example.test"}, otherName},
	} {
		for _, k := range overTLS[:2] {
			t.Run(name+" "+k.name, func(t *testing.T) {
				t.Parallel()
				server := shake(t, &tls.Config{Certificates: []tls.Certificate{c.certificate}, NextProtos: []string{"h2", "http/1.1"}})
				settings := Settings{Protocol: k.protocol, Target: "https://" + server.address(), TLS: c.given, Timeout: patience}
				caller, err := dialer(t, settings).Dial(t.Context(), server.address())
				if c.want != "" {
					expect(t, err, c.want)
				} else if err != nil {
					t.Error(err)
				} else {
					_ = caller.Close()
				}
			})
		}
	}
}

func TestHandshakesThatFail(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	config := func(change func(*tls.Config)) *tls.Config {
		c := &tls.Config{Certificates: []tls.Certificate{ca.good(t)}, NextProtos: []string{"h2", "http/1.1"}}
		change(c)
		return c
	}
	for name, c := range map[string]struct {
		server *counted
		want   map[string]Error // by protocol
	}{
		"no ALPN":       {shake(t, config(func(c *tls.Config) { c.NextProtos = nil })), map[string]Error{HTTP2: noHTTP2, GRPC: noHTTP2}},
		"other ALPN":    {shake(t, config(func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} })), map[string]Error{HTTP2: noHTTP2, GRPC: noHTTP2}},
		"too old":       {shake(t, config(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS11 })), nil},
		"plain HTTP":    {listen(t).each(say("HTTP/1.1 400 Bad Request\r\n\r\n")), map[string]Error{HTTP1: notTLS, HTTP2: notTLS, GRPC: notTLS}},
		"closes":        {listen(t).each(say("")), map[string]Error{HTTP1: shaken, HTTP2: shaken, GRPC: shaken}},
		"never answers": {listen(t).each(func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }), map[string]Error{HTTP1: Timeout, HTTP2: Timeout, GRPC: Timeout}},
	} {
		for _, k := range overTLS {
			want, set := c.want[k.protocol]
			if c.want != nil && !set {
				continue
			}
			t.Run(name+" "+k.name, func(t *testing.T) {
				t.Parallel()
				settings := Settings{Protocol: k.protocol, Target: "https://" + c.server.address(), TLS: TLS{CA: ca.file}, Timeout: patience}
				if want == Timeout {
					settings.Timeout = 100 * time.Millisecond
				}
				_, err := dialer(t, settings).Dial(t.Context(), c.server.address())
				if c.want != nil {
					expect(t, err, want)
				} else if kind := KindOf(err); !strings.HasPrefix(string(kind), "tls: ") {
					t.Errorf("%q", kind)
				}
			})
		}
	}
}

// A server may ask for a certificate, which TLS 1.3 tells only after the handshake.
func TestClientCertificateIsWanted(t *testing.T) {
	t.Parallel()
	for _, k := range overTLS[:2] {
		site := serve(t, k, echo, func(s *http.Server) { s.TLSConfig.ClientAuth = tls.RequireAnyClientCert })
		caller, err := dialer(t, site.settings).Dial(t.Context(), site.address())
		if err == nil {
			_, err = within(t, caller, patience, get("/"))
			_ = caller.Close()
		}
		expect(t, err, "tls: the server says: certificate required")
	}
}

// A connection that is made again goes on with the old session, another caller's does not.
func TestSessions(t *testing.T) {
	t.Parallel()
	for _, k := range overTLS[:2] {
		var resumed, all atomic.Int64
		site := serve(t, k, func(_ http.ResponseWriter, r *http.Request) {
			all.Add(1)
			if r.TLS.DidResume {
				resumed.Add(1)
			}
		})
		d := dialer(t, site.settings)
		for range 2 {
			caller, err := d.Dial(t.Context(), site.address())
			if err != nil {
				t.Fatal(err)
			}
			ask(t, caller, get("/"))
			site.hangUp()
			notice(caller)
			ask(t, caller, get("/"))
			_ = caller.Close()
		}
		if resumed.Load() != 2 || all.Load() != 4 {
			t.Errorf("%s: %d of %d with an old session", k.name, resumed.Load(), all.Load())
		}
	}
}

func TestResetInTheMiddle(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	server := listen(t).each(func(conn net.Conn) {
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{ca.good(t)}})
		if drain(bufio.NewReader(secure)) {
			_, _ = io.WriteString(secure, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nok")
			_ = conn.Close() // without TLS's own close
		}
	})
	caller := dial(t, Settings{Protocol: HTTP1, Target: "https://" + server.address(), TLS: TLS{CA: ca.file}, Timeout: patience}, server.address())
	for range 2 {
		_, err := within(t, caller, patience, get("/"))
		expect(t, err, cut)
	}
}

// The kernel breaks a connection whose other end is gone without a word.
func TestSilenceHasAnEnd(t *testing.T) {
	t.Parallel()
	server := raw(t, "", true)
	settings := plainly(HTTP1, server)
	settings.Timeout = 3 * time.Second
	conn, err := dialer(t, settings).connector(server.address()).connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	socket, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	ms := 0
	_ = socket.Control(func(fd uintptr) { ms, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT) })
	if err != nil || ms != 3000 {
		t.Errorf("%d ms, %v", ms, err)
	}
}
