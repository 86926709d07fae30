package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/result"
)

// The faults that a load generator meets in the field, with real sockets: each must end with the right counts and the
// right words. TestServersThatMisbehave has those of servers that answer wrongly.

// fullPipe is a pipe of 4 KB in which nothing has room any more.
func fullPipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = reader.Close(), writer.Close() })
	size, err := unix.FcntlInt(writer.Fd(), unix.F_SETPIPE_SZ, 4096) // Fd makes it block, as standard error does
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write([]byte(strings.Repeat("-", size-1) + "\n")); err != nil {
		t.Fatal(err)
	}
	return reader, writer
}

// The reader of progress stalls: load and run go on to their end.
func TestProgressWithoutAReader(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	_, writer := fullPipe(t)
	ended := make(chan *result.Summary)
	go func() {
		summary, err := Run(context.Background(), s.plan(t, map[string]any{"arrival": rate("constant", 100), "duration_s": 1.5}),
			filepath.Join(t.TempDir(), "out"), writer)
		if err != nil {
			t.Error(err)
		}
		ended <- summary
	}()
	select {
	case summary := <-ended:
		if c := summary.Counts; c.Completed != 150 {
			t.Errorf("%+v", c)
		}
	case <-time.After(time.Minute):
		t.Fatal("the run hangs past its end")
	}
}

// A feed never blocks its writer: it drops what is not read, and passes on what is.
func TestFeed(t *testing.T) {
	t.Parallel()
	reader, writer := fullPipe(t)
	feed := NewFeed(writer)
	for range 100 * feedLines {
		if n, err := feed.Write([]byte("dropped\n")); n != 8 || err != nil {
			t.Fatalf("%d %v", n, err)
		}
	}
	feed.Close()
	_ = reader.Close() // the reader goes: what waits in Write gets an error
	<-feed.ended

	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	feed = NewFeed(writer)
	line, _ := json.Marshal("read")
	_, _ = feed.Write(line)
	feed.Close()
	_ = writer.Close()
	read := make([]byte, 100)
	if n, err := reader.Read(read); err != nil || string(read[:n]) != string(line) {
		t.Errorf("%q %v", read[:n], err)
	}
}

// Who accepts and closes gets no more connections than requests, whatever their number.
func TestAcceptAndClose(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var accepted atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			_ = conn.Close()
		}
	}()
	s := &server{listener: listener}
	summary, _ := drive(t, s.plan(t, map[string]any{"arrival": rate("constant", 10), "duration_s": 1.5}))
	if c := summary.Counts; c.Errors != 15 || c.Sent != 15 {
		t.Errorf("%+v", c)
	}
	for _, e := range summary.Errors {
		if !strings.HasPrefix(e.Kind, "connection") {
			t.Errorf("%+v", e)
		}
	}
	c := summary.Connections
	if c.Requested != 8 || c.Made != 8 || c.Connects < 15 || c.Connects > 8+15 || accepted.Load() > c.Connects+1 { // the probe's
		t.Errorf("%+v, %d were accepted", c, accepted.Load())
	}
}

// stalling is a server that can stop to answer and to accept for a while: its queue of connections is one long then, so
// the kernel drops every further SYN.
type stalling struct {
	listener net.Listener
	fd       int
	gate     sync.RWMutex // held for writing while it stalls
	requests atomic.Int64
	onEach   func(*stalling, int64)
}

func newStalling(t *testing.T, onEach func(*stalling, int64)) *stalling {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.Listen(fd, 128)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "listener")
	t.Cleanup(func() { _ = file.Close() })
	s := &stalling{fd: fd, onEach: onEach}
	if s.listener, err = net.FileListener(file); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.listener.Close() })
	go func() {
		for {
			s.wait()
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

// stall begins now and ends after d. The queue, long enough before for a client whose server is short of CPU, is cut to one.
func (s *stalling) stall(d time.Duration) error {
	s.gate.Lock()
	time.AfterFunc(d, s.gate.Unlock)
	return unix.Listen(s.fd, 0)
}

// wait is for the end of the stall.
func (s *stalling) wait() {
	s.gate.RLock()
	defer s.gate.RUnlock()
}

func (s *stalling) serve(conn net.Conn) {
	defer conn.Close()
	for reader := bufio.NewReader(conn); ; {
		if _, err := http.ReadRequest(reader); err != nil {
			return
		}
		s.onEach(s, s.requests.Add(1))
		s.wait()
		if !ok(conn, "", 0) {
			return
		}
	}
}

// A server that is silent for some seconds, to SYNs too: those who could not connect are counted as such, and when it is
// back, so is the load, on fresh sockets instead of those whose SYNs the kernel sends again ever later.
func TestDroppedSYNs(t *testing.T) {
	t.Parallel()
	s := newStalling(t, func(s *stalling, n int64) {
		if n == 10 {
			if err := s.stall(3 * time.Second); err != nil {
				t.Error(err)
			}
		}
	})
	summary, _ := drive(t, (&server{listener: s.listener}).plan(t, map[string]any{"connections": 6, "arrival": rate("constant", 20),
		"duration_s": 6, "timeout_s": 1, "drain_s": 5}))
	c, silent := summary.Counts, int64(0)
	for _, e := range summary.Errors {
		if e.Kind != "connect: timed out" {
			t.Errorf("%+v", e)
		}
		silent += e.Count
	}
	if silent == 0 || silent != c.Errors || c.Timeouts == 0 || c.Timeouts > 12 || c.Abandoned == 0 || c.Late > 6 {
		t.Errorf("%+v", c)
	}
	if summary.Batches[9].Completed == 0 || summary.Connections.Failed < silent {
		t.Errorf("last batch %+v, %+v", summary.Batches[9], summary.Connections)
	}
}

// Whose timeout has passed before a connection was free has left: it is counted, and not sent.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	for _, abandon := range []bool{true, false} {
		release := make(chan struct{})
		var once sync.Once
		s := serve(t, func(conn net.Conn, path string, n int) bool {
			once.Do(func() { time.AfterFunc(time.Second, func() { close(release) }) })
			<-release
			return ok(conn, path, n)
		})
		steps := []any{map[string]any{"name": "a", "path": "/"}, map[string]any{"name": "b", "path": "/"}}
		summary, _ := drive(t, s.plan(t, map[string]any{"connections": 1, "arrival": rate("constant", 40), "duration_s": 1.5, "timeout_s": 0.5,
			"drain_s": 30, "abandon": abandon, "slo": map[string]any{"percentile": 99, "latency_ms": 500},
			"operations": []any{map[string]any{"name": "visit", "steps": steps}}}))
		c := summary.Counts
		// What is sent first has its timeout; of those due until the end of the stall, most have left by then.
		if left := c.Abandoned > 0 && c.Unsent == c.Abandoned && c.Sent+c.Unsent+c.Skipped == c.Offered; left != abandon {
			t.Errorf("abandon %v: %+v", abandon, c)
		}
		if !abandon && (c.Unsent != 0 || c.Abandoned != 0) || *summary.Violations < c.Abandoned+c.Timeouts {
			t.Errorf("abandon %v: %+v, violations %d", abandon, c, *summary.Violations)
		}
		if last := summary.Batches[9].Backlog; last < 0 || last > c.Offered {
			t.Errorf("backlog %d", last)
		}
	}
}

// neighbours are servers at the same port of several loopback addresses.
func neighbours(t *testing.T, hosts ...string) (servers []*server, port string) {
	t.Helper()
next:
	for range 100 {
		servers, port = nil, "0"
		for _, host := range hosts {
			listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
			if err != nil {
				continue next
			}
			s := &server{listener: listener, answer: ok}
			s.group.Add(1)
			go s.accept()
			t.Cleanup(s.stop)
			_, port, _ = net.SplitHostPort(listener.Addr().String())
			servers = append(servers, s)
		}
		return servers, port
	}
	t.Fatal("no port is free on all addresses")
	return nil, ""
}

// A name with several addresses is loaded at all that accept connections, and the summary names them.
func TestNameWithTwoAddresses(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"fixed", "new"} {
		servers, port := neighbours(t, "127.0.0.1", "127.0.0.2")
		plan := servers[0].plan(t, map[string]any{"target": "http://service.test:" + port, "policy": policy, "arrival": rate("constant", 80),
			"threads": 2})
		plan.lookup = func(_ context.Context, name string) ([]netip.Addr, error) {
			if name != "service.test" {
				return nil, fmt.Errorf("%s was looked up", name)
			}
			var found []netip.Addr
			for _, text := range []string{"::1", "127.0.0.1", "127.0.0.3", "127.0.0.2", "127.0.0.1"} {
				found = append(found, netip.MustParseAddr(text))
			}
			return found, nil
		}
		summary, _ := drive(t, plan)
		if summary.Counts.Completed != 40 {
			t.Errorf("%s: %+v %+v", policy, summary.Counts, summary.Errors)
		}
		for i, s := range servers {
			if seen, made := len(s.seen()), s.connections(); seen < 10 || policy == "new" && seen != 20 || policy == "fixed" && made != 5 { // one is the probe's
				t.Errorf("%s: server %d has seen %d requests over %d connections", policy, i, seen, made)
			}
		}
		c := summary.Connections
		if fmt.Sprint(c.Addresses, c.Unreachable) != fmt.Sprintf("[127.0.0.1:%[1]s 127.0.0.2:%[1]s] [127.0.0.3:%[1]s]", port) {
			t.Errorf("%+v", c)
		}
	}
}

// Connections come from the addresses that the plan names, in turn.
func TestSourceAddresses(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	summary, _ := drive(t, s.plan(t, map[string]any{"source_addresses": []string{"127.0.0.5", "127.0.0.6"}}))
	from := map[string]int{}
	s.mutex.Lock()
	for _, conn := range s.conns {
		host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		from[host]++
	}
	s.mutex.Unlock()
	if from["127.0.0.5"] != 4 || from["127.0.0.6"] != 4 || len(summary.Connections.Sources) != 2 {
		t.Errorf("%v %+v", from, summary.Connections)
	}
	for address, says := range map[string]string{
		"here": "is not an IP address", "192.0.2.1": "give an address of this machine", "::1": "one is IPv4, the other IPv6",
	} {
		_, err := Run(context.Background(), s.plan(t, map[string]any{"source_addresses": []string{"127.0.0.5", address}}), t.TempDir(), nil)
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "source_addresses[1]: ") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// The ports limit a worker's connections to an address, not those of all workers together.
func TestPortsOfOneWorker(t *testing.T) {
	for _, c := range []struct {
		keys    string
		targets int
		fits    bool
	}{
		{`"connections":60000`, 1, true},
		{`"connections":60001`, 1, false},
		{`"connections":120000`, 2, true},
		{`"connections":120000,"source_addresses":["10.0.0.1","10.0.0.2"]`, 1, true},
		{`"connections":600000,"part":{"number":0,"of":10}`, 1, true},
		{`"connections":600001,"part":{"number":0,"of":10}`, 1, false},
		{`"connections":10,"policy":"growing","most_connections":60001`, 1, false},
		{`"connections":1000,"protocol":"http/2"`, 1, true},
	} {
		plan := parse(t, `{"target":"http://127.0.0.1:1","arrival":{"process":"constant","rate":1},"duration_s":1,
			"operations":[{"name":"home","path":"/"}],`+c.keys+`}`)
		if err := plan.checkPorts(c.targets); (err == nil) != c.fits {
			t.Errorf("%s to %d: %v", c.keys, c.targets, err)
		}
	}
}
