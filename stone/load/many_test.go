package load

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// serverProcess is set in the process that TestMain makes a server of.
const serverProcess = "STONE_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverProcess) != "" {
		serveAlone()
		return
	}
	os.Exit(m.Run())
}

// serveAlone is a server in a process of its own, which ends with its standard input.
func serveAlone() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	s := &server{listener: listener, answer: ok}
	s.group.Add(1)
	go s.accept()
	fmt.Println(listener.Addr())
	_, _ = os.Stdin.Read(make([]byte, 1))
	s.mutex.Lock()
	defer s.mutex.Unlock()
	fmt.Println(len(s.conns), len(s.paths))
}

// Ten thousand connections are opened and used, each in its turn. The server has a process of its own, since both ends
// are more files than a process may usually have open.
func TestTenThousandConnections(t *testing.T) {
	const connections = 10_000
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Max < connections+500 {
		t.Skipf("needs %d open files, and %d are allowed here (ulimit -Hn)", connections+500, limit.Max)
	}
	address, stop := startServer(t)
	text := fmt.Sprintf(`{"target":"http://%s","connections":%d,"arrival":{"process":"constant","rate":%[2]d},"duration_s":1,
		"timeout_s":120,"drain_s":120,"operations":[{"name":"home","path":"/"}]}`, address, connections)
	summary, _ := drive(t, parse(t, text))
	if c := summary.Counts; c.Completed != connections {
		t.Errorf("%+v %+v", c, summary.Errors)
	}
	if made, requests := stop(); made != connections+1 || requests != connections { // and the probe's
		t.Errorf("%d connections, %d requests", made, requests)
	}
}

// startServer starts a server in a process of its own; stop ends it and returns how many connections and requests it had.
func startServer(t testing.TB) (address string, stop func() (connections, requests int)) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), serverProcess+"=1")
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = in.Close(), command.Wait() })
	lines := bufio.NewReader(out)
	if _, err := fmt.Fscanln(lines, &address); err != nil {
		t.Fatal(err)
	}
	return address, func() (connections, requests int) {
		_ = in.Close()
		if _, err := fmt.Fscanln(lines, &connections, &requests); err != nil {
			t.Error(err)
		}
		return connections, requests
	}
}

// What a request costs the generator where its load is the whole, and where it is a thousandth of one: the second is to
// be at most 1.2 times the first.
func BenchmarkPartOfALargeLoad(b *testing.B) {
	address, _ := startServer(b)
	for name, c := range map[string]string{
		"all of 1,000 a second":       `"arrival":{"process":"poisson","rate":1000}`,
		"a thousandth of 1,000,000/s": `"arrival":{"process":"poisson","rate":1000000},"part":{"number":7,"of":1000}`,
	} {
		b.Run(name, func(b *testing.B) {
			connections, cpu, sent := 64, 0.0, int64(0)
			if strings.Contains(c, "part") {
				connections *= 1000 // for all workers together
			}
			for b.Loop() {
				plan, err := ParsePlan(fmt.Appendf(nil, `{"target":"http://%s","connections":%d,%s,"duration_s":2,"operations":[{"name":"home","path":"/"}]}`,
					address, connections, c))
				if err != nil {
					b.Fatal(err)
				}
				summary, err := Run(context.Background(), plan, b.TempDir(), nil)
				if err != nil {
					b.Fatal(err)
				}
				cpu, sent = cpu+summary.Generator.CPUS, sent+summary.Counts.Sent
			}
			b.ReportMetric(cpu*1e6/float64(sent), "CPU-us/request")
		})
	}
}
