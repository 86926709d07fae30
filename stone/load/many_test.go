package load

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
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
	defer func() { _ = command.Wait() }()
	defer in.Close()
	said := bufio.NewReader(out)
	var address string
	if _, err := fmt.Fscanln(said, &address); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"target":"http://%s","connections":%d,"arrival":{"process":"constant","rate":%[2]d},"duration_s":1,
		"timeout_s":120,"drain_s":120,"operations":[{"name":"home","path":"/"}]}`, address, connections)
	summary, _ := drive(t, parse(t, text))
	if c := summary.Counts; c.Completed != connections {
		t.Errorf("%+v %+v", c, summary.Errors)
	}
	_ = in.Close()
	var made, requests int
	if _, err := fmt.Fscanln(said, &made, &requests); err != nil || made != connections+1 || requests != connections { // and the probe's
		t.Errorf("%v: %d connections, %d requests", err, made, requests)
	}
}
