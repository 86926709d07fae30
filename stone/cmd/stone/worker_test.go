package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"loadstone.dev/stone/load"
)

// The test's own binary is `stone` for its children.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_AS_STONE") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func stone(t *testing.T, environment []string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command(os.Args[0], args...)
	command.Env = append(append(os.Environ(), "TEST_AS_STONE=1"), environment...)
	t.Cleanup(func() {
		if command.Process != nil && command.ProcessState == nil {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	})
	return command
}

// startWorker starts a worker process and returns its address.
func startWorker(t *testing.T, environment ...string) (*exec.Cmd, string) {
	t.Helper()
	command := stone(t, environment, "worker", "--listen", "127.0.0.1:0")
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	address, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		t.Fatalf("the worker printed %q, %v", line, err)
	}
	return command, address
}

// coordinate runs a coordinator and returns its exit code and what it wrote.
func coordinate(t *testing.T, environment []string, args ...string) (int, string) {
	t.Helper()
	var text bytes.Buffer
	command := stone(t, environment, append([]string{"load"}, args...)...)
	command.Stdout, command.Stderr = &text, &text
	_ = command.Run() // the exit code says it
	return command.ProcessState.ExitCode(), text.String()
}

func writeLoadPlan(t *testing.T, target, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.json")
	text := `{"target":"` + target + `","arrival":{"process":"constant","rate":100},"duration_s":0.5,"timeout_s":30,
		"operations":[{"name":"home","path":"/"}]` + more + `}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Worker processes and a coordinator process: a good run, a wrong secret, an interruption, a worker that is killed.
func TestWorkerProcesses(t *testing.T) {
	hold, first := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(first) })
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			once()
			<-hold
		}
	}))
	defer server.Close()
	defer close(hold)
	secret := "LOADSTONE_TOKEN=correct horse battery staple"
	doomed, one := startWorker(t, secret)
	survivor, two := startWorker(t, secret)
	plan, out := writeLoadPlan(t, server.URL, ""), filepath.Join(t.TempDir(), "out")

	code, text := coordinate(t, []string{secret}, "--plan", plan, "--out", out, "--workers", one+","+two, "--progress")
	if code != 0 || !strings.Contains(text, `"phase":`) {
		t.Errorf("a good run: exit %d\n%s", code, text)
	}
	written, err := os.ReadFile(filepath.Join(out, "summary.json"))
	var summary load.Summary
	if err != nil || json.Unmarshal(written, &summary) != nil || summary.Counts.Completed != 50 || len(summary.Generator.Workers) != 2 {
		t.Errorf("summary: %v %s", err, written)
	}
	merged := filepath.Join(t.TempDir(), "merged")
	if code := runMerge([]string{merged, filepath.Join(out, "workers", "1"), filepath.Join(out, "workers", "0")}); code != 0 {
		t.Errorf("stone merge: exit %d", code)
	}
	for _, args := range [][]string{{}, {merged}, {merged, merged}, {merged, filepath.Join(out, "workers", "1")}} {
		if code := runMerge(args); code != 2 {
			t.Errorf("stone merge %v: exit %d", args, code)
		}
	}

	code, text = coordinate(t, []string{"LOADSTONE_TOKEN=a guess"}, "--plan", plan, "--out", out, "--workers", one+","+two)
	if code != 3 || !strings.Contains(text, "the secrets differ") || strings.Contains(text, "horse") || strings.Contains(text, "guess") {
		t.Errorf("a wrong secret: exit %d\n%s", code, text)
	}
	gone := writeLoadPlan(t, "http://127.0.0.1:1", "")
	if code, text = coordinate(t, []string{secret}, "--plan", gone, "--out", out, "--workers", one); code != 3 || !strings.Contains(text, "is the application running?") {
		t.Errorf("no target: exit %d\n%s", code, text)
	}
	bad := writeLoadPlan(t, server.URL, `,"cpus":[1000]`)
	if code, text = coordinate(t, []string{secret}, "--plan", bad, "--out", out, "--workers", one); code != 2 || !strings.Contains(text, "cpus: cannot run on CPU 1000") {
		t.Errorf("a bad plan: exit %d\n%s", code, text)
	}

	held := filepath.Join(t.TempDir(), "held.json")
	text = strings.Replace(readText(t, plan), `"path":"/"`, `"path":"/held"`, 1)
	if err := os.WriteFile(held, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { <-first; _ = doomed.Process.Kill() }()
	code, text = coordinate(t, []string{secret}, "--plan", held, "--out", filepath.Join(t.TempDir(), "none"), "--workers", one+","+two)
	if code != 1 || !strings.Contains(text, "worker "+one+": lost") {
		t.Errorf("a worker that was killed: exit %d\n%s", code, text)
	}
	if err := survivor.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := survivor.Wait(); err != nil {
		t.Errorf("a worker that was asked to stop: %v", err)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Ctrl-C at the coordinator.
func TestInterruptedCoordinator(t *testing.T) {
	hold, first := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(first) })
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { once(); <-hold }))
	defer server.Close()
	defer close(hold)
	_, address := startWorker(t)
	var text bytes.Buffer
	command := stone(t, nil, "load", "--plan", writeLoadPlan(t, server.URL, ""), "--out", t.TempDir(), "--workers", address)
	command.Stderr = &text
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	<-first
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _ = command.Wait(); command.ProcessState.ExitCode() != 130 || !strings.Contains(text.String(), "interrupted; no results were written") {
		t.Errorf("exit %d\n%s", command.ProcessState.ExitCode(), text.String())
	}
}

func TestWorkerRefusesWhatItCannotDo(t *testing.T) {
	t.Setenv("LOADSTONE_TOKEN", "")
	for _, args := range [][]string{{"--listen", "no-port"}, {"--listen", "0.0.0.0:0"}, {"extra"}, {"--nonsense"}} {
		if code := runWorker(args); code != 2 {
			t.Errorf("stone worker %v: exit %d, want 2", args, code)
		}
	}
	for _, run := range []func([]string) int{runWorker, runMerge} {
		if code := run([]string{"--help"}); code != 0 {
			t.Errorf("--help: exit %d", code)
		}
	}
}
