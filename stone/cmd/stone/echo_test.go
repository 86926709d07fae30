package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Whole, cut and pipelined requests on several connections: an answer and a time for each, and for no more.
func TestEchoAnswersAndStampsEveryRequest(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().UnixNano()
	ctx, stop := context.WithCancel(context.Background())
	e, ended := &echo{}, make(chan error)
	go func() { ended <- e.serve(ctx, listener.(*net.TCPListener)) }()
	const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, parts := range [][]string{{request}, {request[:9], request[9:26], request[26:]}, {request + request + request[:5], request[5:]}} {
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		for _, part := range parts {
			if _, err := io.WriteString(connection, part); err != nil {
				t.Fatal(err)
			}
		}
		want := bytes.Repeat(echoAnswer, strings.Count(strings.Join(parts, ""), request))
		got := make([]byte, len(want))
		if _, err := io.ReadFull(connection, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q: answered %q, %v", parts, got, err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "stamps.txt")
	if err := e.write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	lines := strings.Fields(string(text))
	if err != nil || len(lines) != 5 {
		t.Fatalf("%v: %d stamps, want 5: %q", err, len(lines), lines)
	}
	for _, line := range lines {
		at, err := strconv.ParseInt(line, 10, 64)
		if err != nil || at < began || at > time.Now().UnixNano() {
			t.Errorf("stamp %q, %v: not while the test ran", line, err)
		}
	}
}

func TestEchoRefusesWhatItCannotDo(t *testing.T) {
	for _, args := range [][]string{{"--listen", "no-port"}, {"extra"}, {"--nonsense"}} {
		if code := runEcho(args); code != 2 {
			t.Errorf("stone echo %v: exit %d, want 2", args, code)
		}
	}
}
