package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"loadstone.dev/stone/load/result"
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

// coordinate runs a coordinator and returns its exit code and what it wrote.
func coordinate(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var text bytes.Buffer
	command := stone(t, nil, append([]string{"load"}, args...)...)
	command.Stdout, command.Stderr = &text, &text
	_ = command.Run() // the exit code says it
	return command.ProcessState.ExitCode(), text.String()
}

// writeLoadPlan writes a plan for two members on this machine, whose files go into a folder of their own.
func writeLoadPlan(t *testing.T, target, path, more string) (file, temporary string) {
	t.Helper()
	folder := t.TempDir()
	temporary = filepath.Join(folder, "tmp")
	file = filepath.Join(folder, "plan.json")
	text := `{"target":"` + target + `","arrival":{"process":"constant","rate":100},"duration_s":0.5,"timeout_s":30,
		"members":[{"name":"one","command":["env","TMPDIR=` + temporary + `","` + os.Args[0] + `","load","--member"]},
			{"name":"two","command":["env","TMPDIR=` + temporary + `","` + os.Args[0] + `","load","--member"]}],
		"operations":[{"name":"home","path":"` + path + `"}]` + more + `}`
	err := os.Mkdir(temporary, 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, temporary
}

// holdingServer answers requests for /held when the test ends, and closes `first` at the first of them.
func holdingServer(t *testing.T) (server *httptest.Server, first chan struct{}) {
	t.Helper()
	hold, first := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(first) })
	server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			once()
			<-hold
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hold) })
	return server, first
}

// awaitEmpty waits until a folder is empty: load workers that are left alone clean up and end.
func awaitEmpty(t *testing.T, folder string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		left, err := os.ReadDir(folder)
		if err == nil && len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v is left, %v", left, err)
		}
	}
}

func TestMemberProcesses(t *testing.T) {
	server, _ := holdingServer(t)
	plan, temporary := writeLoadPlan(t, server.URL, "/", "")
	out := filepath.Join(t.TempDir(), "out")
	code, text := coordinate(t, "--plan", plan, "--out", out, "--progress")
	if code != 0 || !strings.Contains(text, `"phase":`) || !strings.Contains(text, `{"window":"begin"`) {
		t.Errorf("a good run: exit %d\n%s", code, text)
	}
	awaitEmpty(t, temporary)
	written, err := os.ReadFile(filepath.Join(out, "summary.json"))
	var summary result.Summary
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
	for want, given := range map[string]struct {
		code         int
		target, more string
	}{
		"is the application running?": {3, "http://127.0.0.1:1", ""},
		"cpus: cannot run on CPU":     {2, server.URL, `,"cpus":[1000]`},
		"part: is for a load worker":  {2, server.URL, `,"part":{"number":0,"of":2}`},
		"start_unix_ns: is for load":  {2, server.URL, `,"start_unix_ns":7`},
	} {
		plan, temporary := writeLoadPlan(t, given.target, "/", given.more)
		if code, text = coordinate(t, "--plan", plan, "--out", out); code != given.code || !strings.Contains(text, want) {
			t.Errorf("%s: exit %d\n%s", want, code, text)
		}
		awaitEmpty(t, temporary)
	}
}

// A member that is killed ends the run, and so do Ctrl-C and the death of the coordinator. No folder is left.
func TestMembersThatLoseTheirCoordinatorAndTheReverse(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(coordinator *os.Process) error
		code int
		says string
	}{
		"Ctrl-C": {func(p *os.Process) error { return p.Signal(os.Interrupt) }, 130, "interrupted; no results were written"},
		"killed": {func(p *os.Process) error { return p.Kill() }, -1, ""},
		"member": {func(p *os.Process) error {
			threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.Pid))
			for _, thread := range threads {
				children, _ := os.ReadFile(thread)
				if ids := strings.Fields(string(children)); len(ids) > 0 {
					number, _ := strconv.Atoi(ids[0])
					return syscall.Kill(number, syscall.SIGTERM)
				}
			}
			return errors.Join(err, errors.New("there are no members"))
		}, 1, "the worker was stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			server, first := holdingServer(t)
			plan, temporary := writeLoadPlan(t, server.URL, "/held", "")
			var text bytes.Buffer
			command := stone(t, nil, "load", "--plan", plan, "--out", t.TempDir())
			command.Stderr = &text
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			<-first
			if err := c.end(command.Process); err != nil {
				t.Fatal(err)
			}
			if _ = command.Wait(); command.ProcessState.ExitCode() != c.code || !strings.Contains(text.String(), c.says) {
				t.Errorf("exit %d\n%s", command.ProcessState.ExitCode(), text.String())
			}
			awaitEmpty(t, temporary)
		})
	}
}

func TestLoadRefusesArguments(t *testing.T) {
	for _, args := range [][]string{{"--member", "--out", "x"}, {"extra"}, {"--nonsense"}, {"--plan", "x"}} {
		if code := runLoad(args); code != 2 {
			t.Errorf("stone load %v: exit %d, want 2", args, code)
		}
	}
	for _, run := range []func([]string) int{runLoad, runMerge} {
		if code := run([]string{"--help"}); code != 0 {
			t.Errorf("--help: exit %d", code)
		}
	}
}
