package httpserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// handler answers in each way that handlers do, by path.
var handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/nothing":
	case "/echo":
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %q %q %v", r.Method, r.Host, r.Header["X"], body, err)
	case "/unread":
		fmt.Fprint(w, "the body is left")
	case "/error":
		http.Error(w, "no such thing", http.StatusNotFound)
	case "/odd":
		w.WriteHeader(599)
	case "/twice":
		w.WriteHeader(http.StatusCreated)
		w.WriteHeader(http.StatusTeapot)
	case "/none":
		w.WriteHeader(http.StatusNoContent)
		_, err := w.Write([]byte("x"))
		if err == nil {
			panic("a body of 204")
		}
	case "/unchanged":
		w.Header().Set("Etag", `"x"`)
		w.WriteHeader(http.StatusNotModified)
	case "/typed":
		w.Header()["Content-Type"] = nil
		w.Header().Set("X", "a\r\nb: c")
		fmt.Fprint(w, "<html>")
	case "/large", "/long":
		if r.URL.Path == "/long" {
			w.Header().Set("Content-Length", "1000000")
		}
		for range 100 {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 10_000))
		}
	case "/too-long":
		w.Header().Set("Content-Length", "3")
		_, err := w.Write([]byte("four"))
		if err != http.ErrContentLength {
			panic(err)
		}
		fmt.Fprint(w, "3..")
	case "/short":
		w.Header().Set("Content-Length", "5")
		fmt.Fprint(w, "4...")
	case "/close":
		w.Header().Set("Connection", "close")
		fmt.Fprint(w, "the last")
	case "/panic":
		panic(http.ErrAbortHandler)
	}
})

// start serves until the test ends; it returns the server's address.
func start(t testing.TB, handler http.Handler) (*Server, string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(handler, slog.New(slog.DiscardHandler))
	ended := make(chan error)
	go func() { ended <- s.Serve(listener) }()
	t.Cleanup(func() {
		s.Stop(10 * time.Second)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, listener.Addr().String()
}

// converse sends bytes in pieces and returns all that comes back, less the dates.
func converse(address string, pieces ...string) string {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err.Error()
	}
	defer connection.Close()
	for i, piece := range pieces {
		if i > 0 {
			time.Sleep(10 * time.Millisecond) // most likely a packet of its own
		}
		_, _ = connection.Write([]byte(piece))
	}
	_ = connection.(*net.TCPConn).CloseWrite()
	var found strings.Builder
	for reader := bufio.NewReader(connection); ; {
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			return found.String()
		}
		body, err := io.ReadAll(answer.Body)
		answer.Header.Del("Date")
		fmt.Fprintln(&found, answer.Status, answer.Header, answer.Close, len(body), err, string(body[:min(len(body), 99)]))
	}
}

// Callers cannot tell this server from net/http.
func TestAnswersAreThoseOfNetHTTP(t *testing.T) {
	t.Parallel()
	_, ours := start(t, handler)
	theirs := httptest.NewUnstartedServer(handler)
	theirs.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	theirs.Start()
	t.Cleanup(theirs.Close)
	conversations := [][]string{
		{"GET /echo HTTP/1.1\r\nHost: h\r\nX: 1\r\nX: 2\r\n\r\n"},
		{"GET /echo HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\n\r\nGET /error HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"GET /echo HTTP/1.1\r\nHost: h\r\n", "X: 3\r\n\r\n"},
		{"GET /echo HTTP/1.1\r\nHost: h\r\n\r\n", "GET /ec", "ho HTTP/1.1\r\nHost: h\r\n\r\n", "GET /unread HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"GET /echo HTTP/1.1\r\n1: digit\r\nHost: h\r\n\r\n"},
		{"GET /echo HTTP/1.0\r\n\r\n"},
		{"GET /echo HTTP/1.1\r\n\r\n"},
		{"GET /echo HTTP/1.1\r\nHost: h\r\nConnection: keep-alive\r\nConnection: close\r\n\r\nGET /echo HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"HEAD /error HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
		{"PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"},
		{"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"},
		{"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe", "llo"},
		{"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9000\r\n\r\n" + strings.Repeat("y", 9000)},
		{"POST /unread HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET /echo HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"},
		{"POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n", "hi"},
		{"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"},
		{"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello\r\nGET /echo HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"POST /echo HTTP/1.1\nHost: h\n\n\r\n\r\nGET /echo HTTP/1.1\nHost: h\n\n", "GET /echo HTTP/1.1\nHost: h\n\n"},
		{"GET /echo HTTP/1.1\r\nHost: h\r\n\r\n\r\nGET /echo HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"nonsense\r\n\r\n"},
		{"GET /echo HTTP/1.1\r\nHost: h\r\n folded: line\r\n\r\n"},
		{"GET /echo HTTP/1.1\r\nHost: h\r\nbad name: x\r\n\r\n"},
		{""},
	}
	for _, path := range []string{"nothing", "odd", "twice", "none", "unchanged", "typed", "too-long", "short", "close", "panic", "long"} {
		conversations = append(conversations, []string{
			"GET /" + path + " HTTP/1.1\r\nHost: h\r\n\r\n", "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n",
		})
	}
	for _, pieces := range conversations {
		theirs, ours := converse(theirs.Listener.Addr().String(), pieces...), converse(ours, pieces...)
		if ours != theirs {
			t.Errorf("%.200q:\n%s\nnet/http:\n%s", pieces, ours, theirs)
		}
	}
	if text := converse(ours, "GET /large HTTP/1.1\r\nHost: h\r\n\r\n"); !strings.Contains(text, "Content-Length:[1000000]") {
		t.Errorf("a large answer: %.300s", text)
	}
}

// Whatever comes, it is answered as by net/http.
func FuzzRequests(f *testing.F) {
	_, ours := start(f, handler)
	theirs := httptest.NewUnstartedServer(handler)
	theirs.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	theirs.Start()
	f.Cleanup(theirs.Close)
	f.Add("GET /echo HTTP/1.1\r\nHost: h\r\nX: 1\r\n\r\n")
	f.Add("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhelloGET /none HTTP/1.1\r\nHost: h\r\n\r\n")
	f.Add("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 400 { // echoes of more than 2 KB have a length here, and come in chunks there
			return
		}
		theirs, ours := converse(theirs.Listener.Addr().String(), text), converse(ours, text)
		more, begins := strings.CutPrefix(ours, theirs)
		// Where a caller goes away amid the head of a later request, net/http may say nothing instead of 400.
		if !begins || more != "" && !strings.HasPrefix(more, "400 Bad Request") {
			t.Errorf("%q:\n%s\nnet/http:\n%s", text, ours, theirs)
		}
	})
}

// A plain request costs no goroutine, whose start would wake another thread of an idle process.
func TestAPlainRequestStartsNoGoroutine(t *testing.T) {
	t.Parallel()
	stacks := make(chan string, 1)
	_, address := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		all := make([]byte, 1<<20)
		stacks <- string(all[:runtime.Stack(all, true)])
	}))
	for version, background := range map[string]bool{"1.1": false, "1.0": true} { // ours and net/http's
		connection, err := net.Dial("tcp", address) // stays open: net/http would see its end
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		fmt.Fprintf(connection, "GET / HTTP/%s\r\nHost: h\r\n\r\n", version)
		text := <-stacks // the handler's stack first, then all others, other tests' too
		number := strings.Fields(text)[1]
		if strings.Contains(text, "startBackgroundRead in goroutine "+number+"\n") != background {
			t.Errorf("HTTP/%s: %s", version, text)
		}
	}
}

// A stop closes connections that wait, and lets those that are served end.
func TestStop(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}, 2), make(chan struct{})
	s, address := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			began <- struct{}{}
			<-release
		}
		fmt.Fprint(w, "done")
	}))
	idle, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	fmt.Fprint(idle, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	reader := bufio.NewReader(idle)
	if _, err := http.ReadResponse(reader, nil); err != nil {
		t.Fatal(err)
	}
	answers := make(chan string)
	for _, version := range []string{"1.1", "1.0"} { // ours and net/http's
		go func() { answers <- converse(address, "GET /slow HTTP/"+version+"\r\nHost: h\r\n\r\n") }()
		<-began
	}
	stopped := make(chan struct{})
	go func() { s.Stop(time.Minute); close(stopped) }()
	if rest, err := io.ReadAll(reader); err != nil || string(rest) != "done" {
		t.Errorf("%q %v", rest, err)
	}
	close(release)
	for range 2 {
		if answer := <-answers; !strings.Contains(answer, "done") {
			t.Errorf("cut off: %q", answer)
		}
	}
	<-stopped
}

// Connections that are accepted while the server stops are closed; none is served after it has stopped.
func TestStopWhileConnectionsCome(t *testing.T) {
	t.Parallel()
	s, address := start(t, handler)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for {
				connection, err := net.Dial("tcp", address)
				if err != nil {
					return // the listener is closed
				}
				_, _ = io.ReadAll(connection) // until it is closed from there
				_ = connection.Close()
			}
		})
	}
	s.Stop(time.Minute)
	callers.Wait()
	ours, theirs := net.Pipe()
	s.begin(theirs)
	if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a connection that came too late: %v", err)
	}
}

// A handler that never ends does not keep a stop beyond its patience.
func TestPatience(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}), make(chan struct{})
	s, address := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(began); <-release }))
	go converse(address, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	<-began
	s.Stop(10 * time.Millisecond)
	close(release)
}
