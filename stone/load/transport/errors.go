package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// Error is a kind of failure. There are few of them, and they hold no address, port or number of a stream: equal
// failures are equal values, so that they can be counted.
type Error string

func (e Error) Error() string { return string(e) }

// Kinds of failure that other packages test for.
const (
	Timeout   Error = "timeout"   // the context's deadline has passed
	Cancelled Error = "cancelled" // the context was cancelled
	Closed    Error = "the caller was closed"

	ConnectTimeout Error = "connect: timed out" // so has that of an attempt to connect
)

// Kinds of failure. The words are those of the epoll loop, where it knows the same failure.
const (
	noAnswer   Error = "connection closed without an answer"
	cut        Error = "connection closed before the whole answer"
	malformed  Error = "malformed answer: not HTTP/1.1"
	badBody    Error = "malformed answer: bad chunk"
	badMessage Error = "malformed answer: not the message that the method gives"
	longHead   Error = "malformed answer: its head is longer than 64 KiB"
	upgrade    Error = "malformed answer: 101 Switching Protocols, but no upgrade was requested"

	noRequest Error = "the request is not one of HTTP/1.1"
	noChunks  Error = "the request has a Transfer-Encoding; give its body as it is"
	noMessage Error = "the request is no message that a method of the server takes"
	longer    Error = "the request's head is longer than the server takes"

	isHTTP1  Error = "protocol: the server answers in HTTP/1.1; turn HTTP/2 on there, or use http/1.1"
	noHTTP2  Error = "protocol: the server does not offer HTTP/2 in the TLS handshake (ALPN h2); turn it on there, or use http/1.1"
	notHTTP2 Error = "protocol: the server does not keep to HTTP/2"
	goAway   Error = "protocol: the server has sent GOAWAY"

	noReflection Error = "grpc: the server does not tell its methods (reflection); turn that on there, or give descriptors"

	unknownCA Error = "tls: certificate signed by unknown authority; give the authority's certificate as tls.ca"
	otherName Error = "tls: certificate is for another name; give a name it is for as tls.server_name"
	expired   Error = "tls: certificate has expired or is not yet valid; renew it, or check the clocks"
	badCert   Error = "tls: certificate cannot be used"
	notTLS    Error = "tls: the server does not answer in TLS; use http://, or its TLS port"
	shaken    Error = "tls: connection closed in the handshake"
	handshake Error = "tls: handshake failed"
)

// failure is an Error with what is known besides.
type failure struct {
	kind  Error
	cause error
}

func (f *failure) Error() string { return fmt.Sprintf("%s (%v)", f.kind, f.cause) }
func (f *failure) Unwrap() error { return f.kind }

// because makes an Error or a failure of whatever went wrong.
func because(err error) error {
	var kind Error
	if errors.As(err, &kind) {
		return err
	}
	return &failure{KindOf(err), err}
}

// KindOf returns what to count any error of this package as.
func KindOf(err error) Error {
	var kind Error
	if errors.As(err, &kind) {
		return kind
	}
	return kindOf(err, lossKind)
}

// kindOf classifies failures of any stage, and calls `stage` for the rest.
func kindOf(err error, stage func(error) Error) Error {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled):
		return Cancelled
	}
	return stage(err)
}

func connectKind(err error) Error {
	var errno syscall.Errno
	var name *net.DNSError
	switch {
	case errors.As(err, &errno):
		return Error("connect: " + errno.Error())
	case errors.As(err, &name):
		return "connect: the host's name is not known"
	}
	return "connect: not possible"
}

func handshakeKind(err error) Error {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var failure *net.OpError
	switch {
	case errors.As(err, &authority):
		return unknownCA
	case errors.As(err, &name):
		return otherName
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return expired
	case errors.As(err, &invalid):
		return badCert
	case errors.As(err, &record):
		return notTLS
	case errors.As(err, &failure) && failure.Op == "remote error":
		return alertKind(failure)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return shaken
	}
	return handshake
}

// alertKind is for what the other side says in TLS; there are some thirty alerts.
func alertKind(failure *net.OpError) Error {
	if strings.Contains(failure.Err.Error(), "no application protocol") {
		return noHTTP2
	}
	return Error("tls: the server says: " + strings.TrimPrefix(failure.Err.Error(), "tls: "))
}

// streamError has the fields of net/http's own, which lets itself be copied into any struct of these (errors.As).
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "stream reset" }

// h2Codes are the error codes of HTTP/2 (RFC 9113, section 7).
var h2Codes = []string{"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
	"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
	"INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"}

func resetKind(code uint32) Error {
	if int(code) < len(h2Codes) {
		return Error("stream reset: " + h2Codes[code])
	}
	return "stream reset: unknown code"
}

var goAwayCode = regexp.MustCompile(`ErrCode[=:]([A-Z0-9_]+)`)

// lossKind is for a connection or a stream that ended other than it should.
func lossKind(err error) Error {
	var errno syscall.Errno
	var stream streamError
	var failure *net.OpError
	text := err.Error()
	switch {
	case errors.As(err, &stream):
		return resetKind(stream.Code)
	case errors.As(err, &errno):
		return Error(errno.Error())
	case errors.As(err, &failure) && failure.Op == "remote error":
		return alertKind(failure)
	case errors.Is(err, net.ErrClosed), strings.Contains(text, "force closed via ClientConn.Close"):
		return Closed
	case strings.Contains(text, "GOAWAY"):
		if code := goAwayCode.FindStringSubmatch(text); code != nil && slices.Contains(h2Codes, code[1]) {
			return goAway + ": " + Error(code[1])
		}
		return goAway
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return cut
	case strings.HasPrefix(text, "http2: client conn"):
		return noAnswer
	case strings.Contains(text, "header list larger than peer"):
		return longer
	case strings.Contains(text, ": invalid "): // how net/http begins to refuse a request
		return noRequest
	}
	return notHTTP2
}
