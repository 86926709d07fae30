package ready

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The verb as a container runs it: this test's own binary called with "ready" never reaches its tests.
func run(t *testing.T, args ...string) (code int, printed string) {
	t.Helper()
	command := exec.Command(os.Args[0], append([]string{"ready"}, args...)...)
	output, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), string(output)
}

// speak answers each connection with these pieces, after the request if there is one, and then closes or waits.
func speak(t *testing.T, closes bool, pieces ...string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Read(make([]byte, 1024))
			for _, piece := range pieces {
				_, _ = connection.Write([]byte(piece))
			}
			if closes {
				_ = connection.Close()
			} else {
				t.Cleanup(func() { _ = connection.Close() })
			}
		}
	}()
	return listener.Addr().String()
}

func TestReady(t *testing.T) {
	var requests []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.Method+" "+r.Host+r.URL.String())
		if r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, `{"ready":false,"reasons":{"geo":"refused"}}`)
		}
	}))
	defer server.Close()
	closed := httptest.NewServer(nil)
	refused := closed.Listener.Addr().String()
	closed.Close()
	at := server.Listener.Addr().String()

	for _, example := range []struct {
		args string
		code int
		says string
	}{
		{"http://" + at + "/readyz?a=1", 0, ""},
		{"tcp://" + at, 0, ""},
		{"--timeout 1m tcp://" + at + " http://" + at + "/readyz", 0, ""},
		{"http://" + at, 1, "http://" + at + ` answers 503: {"ready":false,"reasons":{"geo":"refused"}}` + "\n"},
		{"tcp://" + at + " tcp://" + refused, 1, "tcp://" + refused + " does not accept: connection refused\n"},
		{"http://" + refused + "/", 1, "http://" + refused + "/ does not accept: connection refused\n"},
		{"http://" + speak(t, false, "HTTP/1.", "1 200 OK\r\nContent-Length: 9\r\n\r\n"), 0, ""},
		{"http://" + speak(t, true, "HTTP/1.1 404 Not Found\r\n\r\n"), 1, " answers 404\n"},
		{"http://" + speak(t, true, "HTTP/1.1 500 Oh\r\n\r\ngr\xfc\xdfe\nmore"), 1, ` answers 500: "gr\xfc\xdfe"` + "\n"},
		{"http://" + speak(t, true, "-ERR unknown command 'GET'\r\n"), 1, ` does not speak HTTP: "-ERR unknown command 'GET'\r"` + "\n"},
		{"http://" + speak(t, true), 1, " does not answer: closed the connection\n"},
		{"--timeout=50ms http://" + speak(t, false), 1, " does not answer: timed out\n"},
		{"", 2, "stone ready: give at least one URL; see stone ready --help\n"},
		{"--timeout 3 tcp://" + at, 2, `"3" is not a time such as 500ms or 2s`},
		{"--timeout", 2, `"" is not a time`},
		{"--timeout -1s tcp://" + at, 2, `"-1s" is not a time`},
		{"--pace=soon tcp://" + at, 2, `--pace "soon" is not a time such as 500ms or 2s`},
		{"http://localhost:80/", 2, `"http://localhost:80/" has no address and port such as 127.0.0.1:8080`},
		{"tcp://127.0.0.1", 2, "has no address and port"},
		{"tcp://127.0.0.1:0", 2, "has no address and port"},
		{"tcp://127.0.0.1.1:80", 2, "has no address and port"},
		{"tcp://127.0.0.256:80", 2, "has no address and port"},
		{"tcp://127.0.0.1:80/path", 2, "is neither http://ADDRESS:PORT/PATH nor tcp://ADDRESS:PORT"},
		{"https://127.0.0.1:80/", 2, "is neither"},
		{"http://127.0.0.1:80/\n", 2, "has a character that a URL cannot have"},
		{"--help", 0, "usage: stone ready"},
	} {
		code, printed := run(t, strings.Split(strings.TrimSuffix(example.args, " "), " ")...)
		if example.args == "" {
			code, printed = run(t)
		}
		if code != example.code || !strings.Contains(printed, example.says) || (example.says == "") != (printed == "") {
			t.Errorf("%q: code %d, %q; want %d, %q", example.args, code, printed, example.code, example.says)
		}
	}
	if requests[0] != "GET "+at+"/readyz?a=1" {
		t.Errorf("requested %q", requests[0])
	}
}

// A check that was ready holds the next one back; once it is not, the next queries at once.
func TestPace(t *testing.T) {
	var status atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
	}))
	defer server.Close()
	url := "http://" + server.Listener.Addr().String() + "/"
	paced, err := parse([]string{"--pace", "1ns", url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { paced.remember(false) })
	for step, example := range []struct {
		args        []string
		status      int
		code        int
		heldBefore  bool
		heldBehind  bool
		description string
	}{
		{[]string{"--pace", "1h", url}, http.StatusServiceUnavailable, 1, false, false, "not ready yet"},
		{[]string{url}, http.StatusOK, 0, false, false, "a check without a pace remembers nothing"},
		{[]string{"--pace", "1h", url}, http.StatusOK, 0, false, true, "ready for the first time: at once"},
		{[]string{"--pace=100ms", url}, http.StatusOK, 0, true, true, "ready again, after the pause"},
		{[]string{"--pace=1ns", url}, http.StatusServiceUnavailable, 1, true, false, "not ready any more"},
		{[]string{"--pace", "1h", url}, http.StatusServiceUnavailable, 1, false, false, "requested at once"},
	} {
		status.Store(int64(example.status))
		if held := paced.wasReady(); held != example.heldBefore {
			t.Fatalf("step %d (%s): held back %t", step, example.description, held)
		}
		started := time.Now()
		if code, printed := run(t, example.args...); code != example.code {
			t.Fatalf("step %d (%s): code %d, %s", step, example.description, code, printed)
		}
		if elapsed := time.Since(started); example.args[0] == "--pace=100ms" && elapsed < 100*time.Millisecond {
			t.Fatalf("step %d (%s): after %v", step, example.description, elapsed)
		}
		if held := paced.wasReady(); held != example.heldBehind {
			t.Fatalf("step %d (%s): holds back the next: %t", step, example.description, held)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add("HTTP/1.1 503 Service Unavailable\r\nA: b\r\n\r\n{}\n")
	f.Add("HTTP/1.0 20")
	f.Add("\x00\r\n\r\n")
	f.Fuzz(func(t *testing.T, answer string) {
		printed := refusal(answer)
		if !isPlain(printed) || len(printed) > 4*longestReason+40 { // quoting makes up to four of one
			t.Errorf("%q is printed as %q", answer, printed)
		}
		if code := status(answer); len(code) != 0 && len(code) != 3 {
			t.Errorf("%q has the status %q", answer, code)
		}
	})
}

func FuzzURL(f *testing.F) {
	f.Add("http://127.0.0.1:9083/readyz")
	f.Add("tcp://0.0.0.0:65535")
	f.Add("tcp://00.0.0.0:1")
	f.Add("http://7.0.0.1.:9")
	f.Fuzz(func(t *testing.T, url string) {
		target, err := parseTarget(url)
		if err != nil {
			return
		}
		address, ambiguous := net.ResolveTCPAddr("tcp4", target.host)
		if ambiguous != nil || [4]byte(address.IP.To4()) != target.socket.Addr || address.Port != target.socket.Port {
			t.Errorf("%q is %v, the package net says %v (%v)", url, target, address, ambiguous)
		}
		if strings.ContainsAny(target.path, "\r\n ") {
			t.Errorf("%q could end the request line", url)
		}
	})
}
