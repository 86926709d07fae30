package transport

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"loadstone.dev/stone/zmtp"
)

// reply starts a REP socket at an address, "127.0.0.1:0" for any, and returns where it is and what stops it.
func startReply(t *testing.T, at string, handle func(string) string) (address string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	server := zmtp.NewServer(zmtp.Rep, 1<<20, func(_ context.Context, request zmtp.Message, _ error) zmtp.Message {
		return zmtp.Message{[]byte(handle(string(request[0]))), []byte("!")}
	}, zmtp.Counts{Malformed: new(atomic.Int64), Oversized: new(atomic.Int64), Lost: new(atomic.Int64)})
	go func() { _ = server.Serve(listener) }()
	stop = func() {
		server.Stop(time.Second)
		_ = listener.Close()
	}
	t.Cleanup(stop)
	return listener.Addr().String(), stop
}

func reqTo(t *testing.T, address string, limit int64) Caller {
	t.Helper()
	dialer, err := New(Settings{Protocol: ZMQ, Target: "tcp://" + address, Timeout: patience, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	caller, err := dialer.Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	return caller
}

func limited(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestMessages(t *testing.T) {
	address, _ := startReply(t, "127.0.0.1:0", strings.ToUpper)
	caller := reqTo(t, address, 100)
	for range 3 {
		if got, err := caller.Call(limited(t, patience), []byte("hello")); err != nil || got.Status != 200 || string(got.Body) != "HELLO!" || got.Size != 6 {
			t.Error(got, err)
		}
	}
	got, err := caller.Call(limited(t, patience), []byte(strings.Repeat("x", 1000)))
	if err != nil || len(got.Body) != 100 || got.Size != 1001 {
		t.Error(len(got.Body), got.Size, err)
	}
	if got, err := reqTo(t, address, 0).Call(limited(t, patience), []byte("x")); err != nil || len(got.Body) != 0 || got.Size != 2 {
		t.Error(got, err)
	}
}

// A server that comes back is connected to again, without an error; a request waits for it.
func TestASocketConnectsAgain(t *testing.T) {
	address, stop := startReply(t, "127.0.0.1:0", strings.ToUpper)
	caller := reqTo(t, address, 100)
	if _, err := caller.Call(limited(t, patience), []byte("first")); err != nil {
		t.Fatal(err)
	}
	stop()
	_, err := caller.Call(limited(t, 300*time.Millisecond), []byte("lost"))
	if kind := KindOf(err); kind != "connect: connection refused" && kind != Timeout && kind != ConnectTimeout {
		t.Error(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := caller.Call(limited(t, patience), []byte("second"))
		answered <- err
	}()
	time.Sleep(50 * time.Millisecond)
	startReply(t, address, strings.ToUpper)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// A late reply is never taken for that to the next request.
func TestATimeoutHasANewConnection(t *testing.T) {
	release := make(chan struct{})
	address, _ := startReply(t, "127.0.0.1:0", func(text string) string {
		if text == "slow" {
			<-release
		}
		return text
	})
	caller := reqTo(t, address, 100)
	if _, err := caller.Call(limited(t, 50*time.Millisecond), []byte("slow")); !errors.Is(err, Timeout) {
		t.Error(err)
	}
	close(release)
	if got, err := caller.Call(limited(t, patience), []byte("next")); err != nil || string(got.Body) != "next!" {
		t.Error(got, err)
	}
}

func TestServersThatAreNotZeroMQ(t *testing.T) {
	for text, want := range map[string]Error{
		"HTTP/1.1 400 Bad Request\r\n\r\n": "zmtp: the peer does not greet as ZeroMQ does", "": noAnswer,
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 64))
				_, _ = conn.Write([]byte(text))
				_ = conn.Close()
			}
		}()
		dialer, err := New(Settings{Protocol: ZMQ, Target: "tcp://" + listener.Addr().String(), Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dialer.Dial(t.Context(), listener.Addr().String()); KindOf(err) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
