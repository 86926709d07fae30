// Package servertest starts real servers for tests, on free loopback ports, as an unprivileged
// user and with an empty data folder, and stops them when the test ends. A test whose server is
// not installed is skipped and says what to install.
package servertest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// patience bounds every start; a slow machine makes a slow test.
const patience = 60 * time.Second

const firstPort, ports = 22_000, 10_000

// Memcached starts a memcached and returns its host:port.
func Memcached(t testing.TB) string {
	t.Helper()
	program := installed(t, "memcached", "memcached")
	return start(t, "nobody", syscall.SIGKILL, accepts, func(port string) *exec.Cmd {
		return exec.Command(program, "-l", "127.0.0.1", "-p", port, "-U", "0", "-t", "2", "-m", "128")
	})
}

// Redis starts a redis-server without persistence and returns its host:port.
func Redis(t testing.TB) string {
	t.Helper()
	program := installed(t, "redis-server", "redis-server")
	return start(t, "nobody", syscall.SIGKILL, accepts, func(port string) *exec.Cmd {
		return exec.Command(program, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no")
	})
}

// installed finds a program or skips the test.
func installed(t testing.TB, program, remedy string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed; install %s", program, remedy)
	}
	return path
}

// start runs the server on a free port as account and returns its host:port once it is ready. A program that is no test
// can take the port between its choice and its use, so a server that ends early is tried again.
// The signal ends it: for what keeps nothing on disk SIGKILL, since a memcached needs 0.7 s to stop by itself.
func start(t testing.TB, account string, signal syscall.Signal, ready func(port string) bool, command func(port string) *exec.Cmd) string {
	t.Helper()
	var output bytes.Buffer
	for range 3 {
		address := FreeAddress(t)
		_, port, _ := net.SplitHostPort(address)
		output.Reset()
		server := command(port)
		server.Stdout, server.Stderr = &output, &output
		server.Dir = "/"
		become(t, server, account)
		if err := server.Start(); err != nil {
			t.Fatalf("servertest: start %s: %v", server.Path, err)
		}
		ended := make(chan struct{})
		go func() { _ = server.Wait(); close(ended) }()
		if becomesReady(port, ready, ended) {
			t.Cleanup(func() { stop(server, signal, ended) })
			return address
		}
		stop(server, signal, ended)
	}
	t.Fatalf("servertest: server did not come up:\n%s", output.String())
	return ""
}

// becomesReady waits for the server; false if it ended or patience did.
func becomesReady(port string, ready func(port string) bool, ended <-chan struct{}) bool {
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		select {
		case <-ended:
			return false
		case <-time.After(10 * time.Millisecond):
		}
		if ready(port) {
			return true
		}
	}
	return false
}

// accepts is the readiness of a server that serves as soon as it listens.
func accepts(port string) bool {
	connection, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", port), time.Second)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

// stop sends the signal, and kills what does not end.
func stop(server *exec.Cmd, signal syscall.Signal, ended <-chan struct{}) {
	_ = server.Process.Signal(signal)
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = server.Process.Kill()
		<-ended
	}
}

// FreeAddress is host:port at which a test may listen until it ends; no other test is given the same, in whichever process.
// It is below the ports that the kernel gives to connections, and is claimed by listening at another address of loopback.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(firstPort + rand.IntN(ports))
		claim, err := net.Listen("tcp", net.JoinHostPort("127.255.0.1", port))
		if err != nil {
			continue
		}
		address := net.JoinHostPort("127.0.0.1", port)
		if listener, err := net.Listen("tcp", address); err == nil {
			_ = listener.Close()
			t.Cleanup(func() { _ = claim.Close() })
			return address
		}
		_ = claim.Close()
	}
	t.Fatal("servertest: no free port")
	return ""
}

// become makes the command run as account if we are root, and end with the test process.
func become(t testing.TB, command *exec.Cmd, account string) {
	t.Helper()
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	if os.Geteuid() == 0 {
		uid, gid := identity(t, account)
		command.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
}

// folder makes a temporary folder that account owns. It is not t.TempDir, whose parents are closed
// to other users.
func folder(t testing.TB, account string) string {
	t.Helper()
	path, err := os.MkdirTemp("", "servertest-")
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	if os.Geteuid() == 0 {
		uid, gid := identity(t, account)
		if err := os.Chown(path, uid, gid); err != nil {
			t.Fatalf("servertest: %v", err)
		}
	}
	return path
}

func identity(t testing.TB, account string) (uid, gid int) {
	t.Helper()
	entry, err := user.Lookup(account)
	if err == nil {
		uid, err = strconv.Atoi(entry.Uid)
	}
	if err == nil {
		gid, err = strconv.Atoi(entry.Gid)
	}
	if err != nil {
		t.Fatalf("servertest: %v", fmt.Errorf("account %s: %w", account, err))
	}
	return uid, gid
}
