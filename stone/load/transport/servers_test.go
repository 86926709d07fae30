package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const patience = time.Minute // for what must come; nothing waits for it to pass

// authority signs the certificates of test servers.
type authority struct {
	file string // its own certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{file: filepath.Join(t.TempDir(), "ca.pem")}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	var der []byte
	a.key, der = sign(t, template, nil)
	a.cert, _ = x509.ParseCertificate(der)
	write(t, a.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

// sign makes a key and a certificate for it, signed by `by` or by itself.
func sign(t testing.TB, template *x509.Certificate, by *authority) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return key, der
}

// leaf makes a certificate for 127.0.0.1 and the names, good until `end`.
func (a *authority) leaf(t testing.TB, end time.Time, names ...string) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: end.Add(-48 * time.Hour), NotAfter: end, DNSNames: names}
	if len(names) == 0 {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	key, der := sign(t, template, a)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) good(t testing.TB) tls.Certificate {
	t.Helper()
	return a.leaf(t, time.Now().Add(24*time.Hour))
}

// files writes a good certificate and its key for servers that read them.
func (a *authority) files(t testing.TB) (certificate, key string) {
	t.Helper()
	good := a.good(t)
	der, err := x509.MarshalPKCS8PrivateKey(good.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: good.Certificate[0]}))
	write(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	return certificate, key
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func listen(t testing.TB) *counted {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{Listener: listener}
	t.Cleanup(c.stop)
	return c
}

// counted is a listener that knows its connections.
type counted struct {
	net.Listener
	mutex sync.Mutex
	conns []net.Conn
	group sync.WaitGroup
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

func (c *counted) accepted() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return len(c.conns)
}

// hangUp closes every connection there is.
func (c *counted) hangUp() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

func (c *counted) stop() {
	_ = c.Close()
	c.hangUp()
	c.group.Wait()
}

func (c *counted) address() string { return c.Addr().String() }

// each hands every connection to a function, and closes it afterwards.
func (c *counted) each(handle func(net.Conn)) *counted {
	c.group.Go(func() {
		for {
			conn, err := c.Accept()
			if err != nil {
				return
			}
			c.group.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	return c
}

// raw answers every HTTP/1.1 request with these bytes, and closes after them unless `keep` is set.
func raw(t testing.TB, text string, keep bool) *counted {
	return listen(t).each(func(conn net.Conn) {
		for reader := bufio.NewReader(conn); drain(reader); {
			if _, err := conn.Write([]byte(text)); err != nil || !keep {
				return
			}
		}
	})
}

// say answers whatever comes first with a text, and closes. It takes all that still comes: what is not read when a
// connection is closed resets it, and the text may be lost.
func say(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, text)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	}
}

// drain reads one HTTP/1.1 request whole.
func drain(reader *bufio.Reader) bool {
	request, err := http.ReadRequest(reader)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, request.Body)
	return err == nil
}

// kind is a way to talk to a server.
type kind struct {
	name, protocol, scheme string
}

var kinds = []kind{{"h1", HTTP1, "http"}, {"h1 over TLS", HTTP1, "https"}, {"h2c", HTTP2, "http"}, {"h2", HTTP2, "https"}}

// site is a server of net/http with the settings to reach it.
type site struct {
	*counted
	settings Settings
}

func serve(t testing.TB, k kind, handle http.HandlerFunc, adjust ...func(*http.Server)) *site {
	t.Helper()
	s := &site{counted: listen(t)}
	s.settings = Settings{Protocol: k.protocol, Target: k.scheme + "://" + s.address(), Timeout: patience, Limit: 1 << 20}
	server := &http.Server{Handler: handle, Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0)}
	server.Protocols.SetHTTP1(k.protocol == HTTP1)
	server.Protocols.SetHTTP2(k.protocol == HTTP2)
	server.Protocols.SetUnencryptedHTTP2(k.protocol == HTTP2)
	if k.scheme == "https" {
		ca := newAuthority(t)
		s.settings.TLS.CA = ca.file
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{ca.good(t)}}
	}
	for _, change := range adjust {
		change(server)
	}
	s.group.Go(func() {
		if k.scheme == "https" {
			_ = server.ServeTLS(s, "", "")
		} else {
			_ = server.Serve(s)
		}
	})
	t.Cleanup(func() { _ = server.Close() })
	return s
}

// plainly are the settings for a bare listener.
func plainly(protocol string, c *counted) Settings {
	return Settings{Protocol: protocol, Target: "http://" + c.address(), Timeout: patience, Limit: 1 << 20}
}

func dialer(t testing.TB, settings Settings) *Dialer {
	t.Helper()
	d, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func dial(t testing.TB, settings Settings, address string) Caller {
	t.Helper()
	caller, err := dialer(t, settings).Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	return caller
}

func (s *site) dial(t testing.TB) Caller {
	t.Helper()
	return dial(t, s.settings, s.address())
}

// render makes the bytes of a request as the load generator does.
func render(method, path, body string, headers ...string) []byte {
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: example.test\r\n", method, path)
	for _, header := range headers {
		text += header + "\r\n"
	}
	if body != "" {
		text += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	return []byte(text + "\r\n" + body)
}

func get(path string) []byte { return render("GET", path, "") }

// within calls with a deadline.
func within(t testing.TB, caller Caller, limit time.Duration, request []byte) (Answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return caller.Call(ctx, request)
}

// ask calls and expects an answer.
func ask(t testing.TB, caller Caller, request []byte) Answer {
	t.Helper()
	answer, err := within(t, caller, patience, request)
	if err != nil {
		t.Fatalf("%v (%s)", err, answer.Detail)
	}
	return answer
}

// expect compares an error with a kind, which must be usable as a key of a map.
func expect(t testing.TB, err error, want Error) {
	t.Helper()
	var got Error
	if !errors.As(err, &got) || got != want || map[error]int{want: 1}[KindOf(err)] != 1 {
		t.Errorf("got %v, want %q", err, want)
	}
}

// spoken is a connection whose exchange has already happened.
type spoken struct {
	net.Conn
	text *bytes.Reader
}

func (s spoken) Read(p []byte) (int, error) { return s.text.Read(p) }

func overBytes(text []byte) *line {
	l := &line{conn: spoken{text: bytes.NewReader(text)}}
	l.reader = bufio.NewReader(l)
	return l
}
