package transport

import (
	"context"
	"crypto/tls"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
)

// link makes the connections for grpc-go, and remembers why the last attempt failed: grpc-go tells it only in words.
type link struct {
	connector *connector
	mutex     sync.Mutex
	failed    error
}

func (l *link) connect(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := l.connector.connect(ctx)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.failed = err
	return conn, err
}

func (l *link) last() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.failed
}

// reason says why there is no connection; if TCP and TLS were made it was for HTTP/2's beginning.
func (l *link) reason() error {
	if err := l.last(); err != nil {
		return err
	}
	return notGRPC
}

// What grpc-go wants to know of a connection's security; TLS is there already when it asks.

func (l *link) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if layered, ok := conn.(*tls.Conn); ok {
		safe := credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}
		return conn, credentials.TLSInfo{State: layered.ConnectionState(), CommonAuthInfo: safe}, nil
	}
	return conn, nil, nil
}

func (l *link) Info() credentials.ProtocolInfo {
	if l.connector.config != nil {
		return credentials.ProtocolInfo{SecurityProtocol: "tls"}
	}
	return credentials.ProtocolInfo{SecurityProtocol: "insecure"}
}

func (l *link) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	panic("a client makes no server's handshake")
}
func (l *link) Clone() credentials.TransportCredentials { return l }
func (l *link) OverrideServerName(string) error         { return nil }
