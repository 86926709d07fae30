package transport

import (
	"context"
	"crypto/tls"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
)

// link makes the connections for grpc-go, and remembers why the last attempt failed: grpc-go reports it only as text.
type link struct {
	connector *connector
	mutex     sync.Mutex
	failed    error
	begun     *preface // preface of the last connection
}

func (l *link) connect(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := l.connector.connect(ctx)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.failed = err; err != nil {
		return nil, err
	}
	l.begun = newPreface(conn)
	return l.begun, nil
}

// last is why the last attempt failed, nil if it did not.
func (l *link) last() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.failed != nil || l.begun == nil {
		return l.failed
	}
	select {
	case <-l.begun.ready:
		return nil
	default:
	}
	select {
	case <-l.begun.lost:
		return l.begun.cause
	default:
		return nil
	}
}

// The security of a connection for grpc-go; the TLS handshake is already done.

func (l *link) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if layered, ok := conn.(*preface).Conn.(*tls.Conn); ok {
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
