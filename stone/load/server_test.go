package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"loadstone.dev/stone/load/result"
)

// server is a scripted HTTP/1 server: answer decides what each request gets, and remembers what came.
type server struct {
	listener net.Listener
	answer   func(conn net.Conn, path string, n int) bool // false: close the connection
	mutex    sync.Mutex
	paths    []string
	conns    []net.Conn
	group    sync.WaitGroup
}

// ok is a good answer.
func ok(conn net.Conn, _ string, _ int) bool {
	_, err := conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	return err == nil
}

// silent never answers.
func silent(net.Conn, string, int) bool { return true }

// raw answers with the given bytes.
func raw(text string, keep bool) func(net.Conn, string, int) bool {
	return func(conn net.Conn, _ string, _ int) bool {
		_, err := conn.Write([]byte(text))
		return err == nil && keep
	}
}

func serve(t *testing.T, answer func(net.Conn, string, int) bool) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{listener: listener, answer: answer}
	s.group.Add(1)
	go s.accept()
	t.Cleanup(s.stop)
	return s
}

func (s *server) accept() {
	defer s.group.Done()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mutex.Lock()
		s.conns = append(s.conns, conn)
		s.mutex.Unlock()
		s.group.Add(1)
		go s.handle(conn)
	}
}

func (s *server) handle(conn net.Conn) {
	defer s.group.Done()
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		if _, err := bufio.NewReader(request.Body).WriteTo(discard{}); err != nil {
			return
		}
		s.mutex.Lock()
		n := len(s.paths)
		s.paths = append(s.paths, request.URL.Path)
		s.mutex.Unlock()
		if !s.answer(conn, request.URL.Path, n) {
			return
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// stop closes the listener and every connection.
func (s *server) stop() {
	_ = s.listener.Close()
	s.mutex.Lock()
	for _, conn := range s.conns {
		_ = conn.Close()
	}
	s.mutex.Unlock()
	s.group.Wait()
}

func (s *server) seen() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]string{}, s.paths...)
}

// plan returns the text of a plan for the server; keys replace or add to the defaults.
func (s *server) plan(t *testing.T, keys map[string]any) *Plan {
	t.Helper()
	all := map[string]any{
		"target": "http://" + s.listener.Addr().String(), "connections": 8, "duration_s": 0.5, "timeout_s": 20, "seed": 1,
		"arrival":    map[string]any{"process": "poisson", "rate": 400},
		"operations": []any{map[string]any{"name": "home", "path": "/"}},
	}
	for key, value := range keys {
		if all[key] = value; value == nil {
			delete(all, key)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

func rate(process string, perSecond float64) map[string]any {
	return map[string]any{"process": process, "rate": perSecond}
}

// checkOwn verifies that what the generator alone caused is a part of the whole, and of each operation.
func checkOwn(t *testing.T, s *result.Summary) {
	t.Helper()
	var sum result.ByGenerator
	for _, o := range s.Operations {
		sum.Add(o.By)
		if o.By.Late > o.Counts.Late || o.By.Unsent > o.Counts.Unsent || o.Violations != nil && o.By.Violations > *o.Violations {
			t.Errorf("%s: by the generator %+v of %+v", o.Name, o.By, o.Counts)
		}
	}
	if sum != s.ByGenerator {
		t.Errorf("by the generator %+v, the operations have %+v", s.ByGenerator, sum)
	}
	if (s.LessOwn != nil) != (s.Violations != nil) || (s.Generator.OwnLatenessSLO != nil) != (s.Violations != nil) {
		t.Errorf("less own %+v, violations %v", s.LessOwn, s.Violations)
	}
	if s.LessOwn == nil {
		return
	}
	intended, less := s.LatencyMs["intended"], s.LessOwn.LatencyMs
	if less.Count != s.Counts.Offered || less.P50 > intended.P50 || less.P99 > intended.P99 || less.Max > intended.Max {
		t.Errorf("latency %+v, less own %+v", intended, less)
	}
	for i, b := range s.Batches {
		if own := s.LessOwn.Backlog[i]; own < 0 || own > b.Backlog {
			t.Errorf("batch %d: backlog %d, less own %d", i, b.Backlog, own)
		}
	}
}

// drive runs a plan and returns what it wrote; what must hold for every run is checked here.
func drive(t *testing.T, plan *Plan) (*result.Summary, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	returned, err := Run(context.Background(), plan, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s result.Summary
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	c := s.Counts
	if c != returned.Counts || c.Offered != c.Completed+c.Late+c.Errors+c.Timeouts+c.Unsent+c.InFlight || c.Sent != c.Offered-c.Unsent-c.Skipped {
		t.Errorf("the counts do not add up: %+v, returned %+v", c, returned.Counts)
	}
	if s.Aborted == nil && s.Loop == "open" && c.Offered != s.Planned {
		t.Errorf("offered %d, planned %d", c.Offered, s.Planned)
	}
	if n := s.LatencyMs["intended"].Count; n != c.Offered {
		t.Errorf("%d intended latencies for %d requests", n, c.Offered)
	}
	if n := s.LatencyMs["service"].Count; n != c.Completed+c.Late {
		t.Errorf("%d service times for %d answers", n, c.Completed+c.Late)
	}
	if n := s.LatencyMs["lateness"].Count; n != c.Sent {
		t.Errorf("%d latenesses for %d sent", n, c.Sent)
	}
	errors, offered, completed, parts := int64(0), int64(0), int64(0), 10
	for _, e := range s.Errors {
		errors += e.Count
	}
	for _, b := range s.Batches {
		offered += b.Offered
		completed += b.Completed
	}
	if s.Loop == "closed" && s.Planned > 0 { // its window has no tenths
		offered, completed, parts = c.Offered, s.CompletedInWindow, 0
	}
	if errors != c.Errors || offered != c.Offered || completed != s.CompletedInWindow || len(s.Batches) != parts {
		t.Errorf("errors %d of %d, batches offered %d of %d, completed %d of %d", errors, c.Errors, offered, c.Offered, completed, s.CompletedInWindow)
	}
	checkOwn(t, &s)
	checkLog(t, dir, &s)
	if t.Failed() {
		fmt.Fprintln(os.Stderr, string(text))
	}
	return &s, dir
}
