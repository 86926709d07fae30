package workers

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
)

// Variable is the environment variable that holds the secret which workers and coordinator share.
const Variable = "LOADSTONE_TOKEN"

// prove is what only who knows the secret can say of two numbers that are used once. The secret itself is never sent.
func prove(secret, side string, workers, coordinators []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	for _, part := range [][]byte{[]byte(side), workers, coordinators} {
		mac.Write([]byte{byte(len(part))})
		mac.Write(part)
	}
	return mac.Sum(nil)
}

func once() []byte {
	number := make([]byte, 32)
	_, _ = rand.Read(number) // it does not fail
	return number
}

var errSecret = errors.New("the secrets differ; give worker and coordinator the same " + Variable)

// admit lets a coordinator prove itself to a worker, and answers in kind.
func admit(l *link, secret string) error {
	ours := once()
	if err := l.send(message{Kind: hello, Version: version, Nonce: ours}); err != nil {
		return err
	}
	m, err := l.expect(proof, silence)
	if err != nil {
		return err
	}
	if !hmac.Equal(m.Proof, prove(secret, "coordinator", ours, m.Nonce)) || len(m.Nonce) != len(ours) {
		_ = l.send(failure(errSecret))
		return errSecret
	}
	l.limit = longest
	return l.send(message{Kind: welcome, Proof: prove(secret, "worker", ours, m.Nonce)})
}

// introduce proves a coordinator to a worker, and asks for proof in turn.
func introduce(l *link, secret string) error {
	m, err := l.expect(hello, silence)
	if err != nil {
		return err
	}
	if m.Version != version {
		return fmt.Errorf("it speaks version %d of the protocol, this stone speaks %d; use one version of stone", m.Version, version)
	}
	ours := once()
	if err := l.send(message{Kind: proof, Nonce: ours, Proof: prove(secret, "coordinator", m.Nonce, ours)}); err != nil {
		return err
	}
	answer, err := l.expect(welcome, silence)
	if err != nil {
		return err
	}
	if !hmac.Equal(answer.Proof, prove(secret, "worker", m.Nonce, ours)) {
		return errSecret
	}
	l.limit = longest
	return nil
}

// Listen opens a worker's address. One without a host is of the loopback interface, and only there no secret is needed.
func Listen(address, secret string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q is not HOST:PORT", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	if at, ok := listener.Addr().(*net.TCPAddr); secret == "" && !(ok && at.IP.IsLoopback()) {
		_ = listener.Close()
		return nil, fmt.Errorf("%s can be reached from other hosts: set %s to a secret, the same for the coordinator", address, Variable)
	}
	return listener, nil
}
