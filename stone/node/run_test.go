package node

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"loadstone.dev/stone/node/process"
)

func TestACommand(t *testing.T) {
	c := startNode(t, t.TempDir())
	ran := Ran{}
	one, _ := c.ask("run", m{"argv": []string{"sh", "-c", "cat; echo $X; pwd; echo oh >&2; exit 3"}, "env": m{"X": "y"}, "folder": "/tmp", "timeout_s": 30}, []byte("in\x00\xff\n"))
	if err := json.Unmarshal(one.OK, &ran); err != nil {
		t.Fatal(one, err)
	}
	if want := (Ran{Code: 3, StdoutBytes: 12, StderrBytes: 3}); ran != want || string(one.payload) != "in\x00\xff\ny\n/tmp\noh\n" {
		t.Errorf("%+v %q", ran, one.payload)
	}
	c.must("run", m{"argv": []string{"sh", "-c", "kill -INT $$"}, "timeout_s": 30}, &ran)
	if ran.Code != -1 || ran.Signal != "SIGINT" {
		t.Errorf("%+v", ran)
	}
	c.fails("run", m{"argv": []string{"no-such-program"}, "timeout_s": 1}, Missing, `no program "no-such-program" in `)
	c.fails("run", m{"argv": []string{"/no/such/program"}, "timeout_s": 1}, Missing, "/no/such/program")
	c.fails("run", m{"argv": []string{"true"}, "folder": "/no/such/folder", "timeout_s": 1}, Missing, "/no/such/folder")
	c.fails("run", m{"argv": []string{"true"}, "folder": "tmp", "timeout_s": 1}, Input, "not absolute")
	c.fails("run", m{"argv": []string{}, "timeout_s": 1}, Input, "argv is empty")
	c.fails("run", m{"argv": []string{"true"}}, Input, "timeout_s is 0")
	c.fails("run", m{"argv": []string{"a\x00b"}, "timeout_s": 1}, Input, "zero byte")
}

func TestACommandOnCores(t *testing.T) {
	c := startNode(t, t.TempDir())
	facts := Facts{}
	c.must("facts", m{}, &facts)
	core := facts.CPUs[len(facts.CPUs)-1]
	out := c.must("run", m{"argv": []string{"grep", "Cpus_allowed_list", "/proc/self/status"}, "timeout_s": 30, "cores": []int{core}}, nil)
	if want := "Cpus_allowed_list:\t" + strconv.Itoa(core) + "\n"; string(out) != want {
		t.Errorf("%q, want %q", out, want)
	}
	again := Facts{}
	if c.must("facts", m{}, &again); !slices.Equal(facts.CPUs, again.CPUs) {
		t.Errorf("the node itself is on %v after %v", again.CPUs, facts.CPUs)
	}
	c.fails("run", m{"argv": []string{"true"}, "timeout_s": 30, "cores": []int{5000}}, Input, "core 5000")
}

func TestTheEndOfMuchOutput(t *testing.T) {
	c := startNode(t, t.TempDir())
	ran := Ran{}
	out := c.must("run", m{"argv": []string{"sh", "-c", "head -c 5000000 /dev/zero; echo end"}, "timeout_s": 60}, &ran)
	if !ran.Truncated || len(out) != mostOutputBytes || !bytes.HasSuffix(out, []byte("\x00end\n")) {
		t.Errorf("%+v, %d bytes", ran, len(out))
	}
}

// A process group is killed at the timeout, and what a command leaves behind when it has ended.
func TestNothingOfACommandIsLeft(t *testing.T) {
	c := startNode(t, t.TempDir())
	for script, timedOut := range map[string]bool{"sleep 1000 & echo $!; sleep 1000": true, "sleep 1000 & echo $!": false} {
		ran, timeout := Ran{}, 60.0
		if timedOut {
			timeout = 3
		}
		out := c.must("run", m{"argv": []string{"sh", "-c", script}, "timeout_s": timeout}, &ran)
		if ran.TimedOut != timedOut {
			t.Errorf("%s: %+v", script, ran)
		}
		gone(t, string(out))
	}
}

// gone waits until no process of that id is alive.
func gone(t *testing.T, pid string) {
	t.Helper()
	number, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		t.Fatalf("%q is no process id", pid)
	}
	eventually(t, "process "+pid+" is gone", func() bool {
		stat, err := process.Read(number)
		return err != nil || !stat.Alive()
	})
}

// begun starts a command with a child, and gives their ids.
func begun(t *testing.T, c *client) (id int64, leader, child string) {
	t.Helper()
	id = c.send("run", m{"argv": []string{"sh", "-c", "sleep 1000 & echo $$ $!; sleep 1000"}, "timeout_s": 1000, "follow": true}, nil)
	line := map[string]string{}
	if err := json.Unmarshal(c.next().Event, &line); err != nil {
		t.Fatal(err)
	}
	leader, child, _ = strings.Cut(line["stdout"], " ")
	return id, leader, child
}

func TestACommandIsCanceled(t *testing.T) {
	c := startNode(t, t.TempDir())
	id, leader, child := begun(t, c)
	c.send("cancel", m{"id": id}, nil)
	for range 2 {
		one := c.next()
		if *one.ID == id && (one.Error == nil || one.Error.Kind != Canceled) {
			t.Errorf("%+v", one)
		}
	}
	gone(t, leader)
	gone(t, child)
}

// What a command prints is read only when the keeper knows the command: a client that sees it may kill the node at once.
func TestNothingIsCopiedBeforeTheCommandIsKnown(t *testing.T) {
	out, problems, command := newOutput("stdout", false), newOutput("stderr", false), &exec.Cmd{}
	pipes, err := plumb(command, nil, out, problems)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(command.Stdout, "here\n"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	if text := out.end(); len(text) > 0 {
		t.Errorf("%q was read", text)
	}
	pipes.started()
	pipes.finish(time.Minute)
	if text := out.end(); string(text) != "here\n" {
		t.Errorf("%q", text)
	}
}

func TestTheChannelsEndKillsCommands(t *testing.T) {
	for name, end := range map[string]func(*client){
		"input":   func(c *client) { _ = c.in.Close() },
		"SIGTERM": func(c *client) { _ = c.command.Process.Signal(syscall.SIGTERM) },
		"SIGKILL": func(c *client) { _ = c.command.Process.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			c := startNode(t, t.TempDir())
			_, leader, child := begun(t, c)
			end(c)
			gone(t, leader)
			gone(t, child)
			if err := c.close(); (err == nil) == (name == "SIGKILL") {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// A node whose client reads nothing any more ends when it notices.
func TestABrokenOutputKillsCommands(t *testing.T) {
	path, err := stone()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	script := `{"id":1,"verb":"run","args":{"argv":["sh","-c","echo $$ >` + file + `; while true; do echo x; sleep 0.01; done"],"timeout_s":1000,"follow":true}}`
	// head ends after two lines; the input stays open.
	shell := "{ echo '" + script + "'; sleep 1000; } | '" + path + "' node --state " + t.TempDir() + " | head -n 2 >/dev/null"
	c := startNode(t, t.TempDir())
	c.send("run", m{"argv": []string{"sh", "-c", shell}, "timeout_s": 1000}, nil)
	eventually(t, "the command runs", func() bool { text, err := os.ReadFile(file); return err == nil && len(text) > 1 })
	text, _ := os.ReadFile(file)
	gone(t, string(text))
}

// A command never waits for a client that reads slowly: its lines are dropped and counted.
func TestASlowReader(t *testing.T) {
	c := startNode(t, t.TempDir())
	file := filepath.Join(t.TempDir(), "done")
	c.send("run", m{"argv": []string{"sh", "-c", "seq 1 1000000; touch " + file}, "timeout_s": 1000, "follow": true}, nil)
	eventually(t, "the command is done", func() bool { _, err := os.Stat(file); return err == nil })
	events, first := 0, ""
	for {
		one := c.next()
		if one.Event != nil {
			if events++; events == 1 {
				first = string(one.Event)
			}
			continue
		}
		ran := Ran{}
		if err := json.Unmarshal(one.OK, &ran); err != nil {
			t.Fatal(err)
		}
		if first != `{"stdout":"1"}` || ran.Dropped == 0 || events+ran.Dropped != 1_000_000 || !bytes.HasSuffix(one.payload, []byte("\n999999\n1000000\n")) {
			t.Errorf("first %s, %d events, %+v", first, events, ran)
		}
		return
	}
}

func TestLinesOfBothOutputs(t *testing.T) {
	c := startNode(t, t.TempDir())
	c.send("run", m{"argv": []string{"sh", "-c", "echo a; echo; printf 'b\\377'; sleep 0.2; echo c >&2"}, "timeout_s": 100, "follow": true}, nil)
	var events []string
	for one := c.next(); one.Event != nil; one = c.next() {
		events = append(events, string(one.Event))
	}
	slices.Sort(events)
	if want := []string{`{"stderr":"c"}`, `{"stdout":""}`, `{"stdout":"a"}`, `{"stdout":"b�"}`}; !slices.Equal(events, want) {
		t.Errorf("%q", events)
	}
}

func TestACommandOfAnotherUser(t *testing.T) {
	c := startNode(t, t.TempDir())
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if out := c.must("run", m{"argv": []string{"id", "-un"}, "user": "nobody", "timeout_s": 30}, nil); string(out) != "nobody\n" {
		t.Errorf("%q", out)
	}
	c.fails("run", m{"argv": []string{"id"}, "user": "no-such-user", "timeout_s": 30}, Input, `no user "no-such-user"`)
}

func TestRequestsRunSideBySide(t *testing.T) {
	c := startNode(t, t.TempDir())
	file := filepath.Join(t.TempDir(), "go")
	slow := c.send("run", m{"argv": []string{"sh", "-c", "until [ -e " + file + " ]; do sleep 0.01; done"}, "timeout_s": 1000}, nil)
	fast := c.send("clock", m{}, nil)
	if one := c.next(); *one.ID != fast {
		t.Errorf("request %d answered first", *one.ID)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if one := c.next(); *one.ID != slow {
		t.Errorf("request %d answered second", *one.ID)
	}
}
