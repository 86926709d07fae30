package node

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"loadstone.dev/stone/node/groups"
	"loadstone.dev/stone/node/process"
)

// deploy begins a deployment, which ends with the test.
func deploy(t testing.TB, c *client, state, name string) Begun {
	t.Helper()
	begun := Begun{}
	c.must("begin", m{"deployment": name, "digest": "d1", "owner": "tester"}, &begun)
	t.Cleanup(func() { startNode(t, state).must("end", m{"deployment": name}, nil) })
	return begun
}

// limited skips where control groups cannot be made.
func limited(t testing.TB) {
	t.Helper()
	if kernel, err := groups.Find("/proc", ""); err != nil || kernel.Problem() != "" {
		t.Skip("needs control groups: ", kernel.Problem(), err)
	}
}

func only(t *testing.T, c *client, deployment string) Process {
	t.Helper()
	listed := Listed{}
	c.must("list", m{"deployment": deployment}, &listed)
	if len(listed.Deployments) != 1 || len(listed.Deployments[0].Processes) != 1 {
		t.Fatalf("%+v", listed)
	}
	return listed.Deployments[0].Processes[0]
}

func TestADeploymentIsBegunOnce(t *testing.T) {
	state := t.TempDir()
	c := startNode(t, state)
	begun, again := deploy(t, c, state, "hotel"), Begun{}
	startNode(t, state).must("begin", m{"deployment": "hotel", "digest": "d1", "owner": "other"}, &again)
	if begun.Folder != again.Folder || (begun.Group == nil) != (again.Group == nil) || begun.Group != nil && *begun.Group != *again.Group {
		t.Errorf("%+v, then %+v", begun, again)
	}
	if (begun.Group == nil) != (begun.UnlimitedBecause != "") || len(names(t, begun.Folder)) != 0 {
		t.Errorf("%+v", begun)
	}
	refused := c.fails("begin", m{"deployment": "hotel", "digest": "d2", "owner": "other"}, Refused, `a deployment "hotel" with other settings (digest d1) is on this machine; its owner is tester`)
	if refused.Owner != "tester" {
		t.Errorf("the fault names %q as its owner", refused.Owner)
	}
	c.fails("begin", m{"deployment": "../x", "digest": "d2", "owner": ""}, Input, "is no name of a deployment")
	c.fails("begin", m{"deployment": "x", "digest": "", "owner": ""}, Input, "digest is empty")
}

// What was spawned outlives its node, even one that is killed; another node finds it by the journal and ends it.
func TestWhatWasSpawnedLivesOn(t *testing.T) {
	state := t.TempDir()
	c := startNode(t, state)
	begun := deploy(t, c, state, "hotel")
	spawned := Spawned{}
	script := "cat conf/file; echo $X; sleep 1000 & sleep 1000"
	c.must("spawn", m{"deployment": "hotel", "name": "rate-1", "argv": []string{"sh", "-c", script}, "env": m{"X": "y"},
		"folder": begun.Folder, "files": m{"conf/file": "text\n"}}, &spawned)
	c.fails("spawn", m{"deployment": "hotel", "name": "rate-1", "argv": []string{"true"}}, Refused, "runs already, with process id "+strconv.Itoa(spawned.PID))
	_ = c.command.Process.Signal(syscall.SIGKILL)
	if c.close() == nil {
		t.Error("the node was not killed")
	}
	c = startNode(t, state)
	found := only(t, c, "hotel")
	if stat, err := process.Read(spawned.PID); err != nil || stat.Started != spawned.Started || stat.Session != spawned.PID {
		t.Errorf("%+v, %v", stat, err)
	}
	if found.Name != "rate-1" || found.PID != spawned.PID || !found.Alive || len(found.CPUs) == 0 || found.ExitCode != nil {
		t.Errorf("%+v", found)
	}
	eventually(t, "its log", func() bool {
		return string(c.must("log", m{"deployment": "hotel", "name": "rate-1", "lines": 5, "most_bytes": 100}, nil)) == "text\ny\n"
	})
	ended := Ended{}
	c.must("end", m{"deployment": "hotel"}, &ended)
	if len(ended.Running) != 1 || len(names(t, filepath.Join(state, "deployments"))) != 0 {
		t.Errorf("%+v, left %q", ended, names(t, filepath.Join(state, "deployments")))
	}
	gone(t, strconv.Itoa(spawned.PID))
	for _, stat := range process.All() {
		if stat.Session == spawned.PID && stat.Alive() {
			t.Errorf("process %d is left", stat.PID)
		}
	}
	if begun.Group != nil {
		kernel, err := groups.Find("/proc", "")
		if err != nil || kernel.Exists(*begun.Group) {
			t.Errorf("control group %s is left, %v", *begun.Group, err)
		}
	}
	c.must("end", m{"deployment": "hotel"}, &ended)
	if len(ended.Running) != 0 {
		t.Errorf("ended twice: %+v", ended)
	}
}

func TestHowProcessesEnd(t *testing.T) {
	state := t.TempDir()
	c := startNode(t, state)
	deploy(t, c, state, "hotel")
	for script, want := range map[string]string{"exit 7": "exit 7", "kill -SEGV $$": "SIGSEGV"} {
		c.must("spawn", m{"deployment": "hotel", "name": "x", "argv": []string{"sh", "-c", script}}, nil)
		var found Process
		eventually(t, "how it ended", func() bool {
			found = only(t, c, "hotel")
			return !found.Alive && (found.ExitCode != nil || found.Signal != "")
		})
		if how := found.Signal; how != want && (found.ExitCode == nil || "exit "+strconv.Itoa(*found.ExitCode) != want) {
			t.Errorf("%s: %+v", script, found)
		}
	}
	c.fails("spawn", m{"deployment": "hotel", "name": "x", "argv": []string{"no-such-program"}}, Missing, "no program")
	c.fails("spawn", m{"deployment": "hotel", "name": "x", "argv": []string{"/etc/passwd"}}, Failed, "/etc/passwd cannot be started: execute /etc/passwd: permission denied")
	c.fails("spawn", m{"deployment": "other", "name": "x", "argv": []string{"true"}}, Missing, `no deployment "other"`)
	c.fails("spawn", m{"deployment": "hotel", "name": "x", "argv": []string{"true"}, "folder": "/tmp", "files": m{"../x": ""}}, Input, "is not below the folder")
}

func TestStop(t *testing.T) {
	state := t.TempDir()
	c := startNode(t, state)
	deploy(t, c, state, "hotel")
	for name, script := range map[string]string{
		"kind": "trap 'exit 0' TERM; echo ready; while true; do sleep 0.01; done",
		"deaf": "trap '' TERM; echo ready; while true; do sleep 0.01; done",
	} {
		c.must("spawn", m{"deployment": "hotel", "name": name, "argv": []string{"sh", "-c", script}}, nil)
		eventually(t, name+" is ready", func() bool {
			return string(c.must("log", m{"deployment": "hotel", "name": name, "lines": 1, "most_bytes": 100}, nil)) == "ready\n"
		})
	}
	stopped := Stopped{}
	c.must("stop", m{"deployment": "hotel", "names": []string{"kind"}, "signal": "TERM", "grace_s": 60}, &stopped)
	if len(stopped.Killed) != 0 {
		t.Errorf("%+v", stopped)
	}
	c.must("stop", m{"deployment": "hotel", "names": []string{"kind", "deaf"}, "signal": "SIGTERM", "grace_s": 0.3}, &stopped)
	if len(stopped.Killed) != 1 || stopped.Killed[0] != "deaf" {
		t.Errorf("%+v", stopped)
	}
	listed := Listed{}
	c.must("list", m{}, &listed)
	for _, process := range listed.Deployments[0].Processes {
		if process.Alive {
			t.Errorf("%+v", process)
		}
	}
	c.must("stop", m{"deployment": "hotel", "names": []string{"kind", "deaf"}, "signal": "TERM", "grace_s": 0}, &stopped)
	c.fails("stop", m{"deployment": "hotel", "names": []string{"x"}, "signal": "TERM", "grace_s": 0}, Missing, `no process "x"`)
	c.fails("stop", m{"deployment": "hotel", "names": []string{}, "signal": "FUN", "grace_s": 0}, Input, `no signal "FUN"`)
}

// The limits are in force from the first instruction, and are what the kernel says.
func TestLimitsAreInForce(t *testing.T) {
	limited(t)
	state := t.TempDir()
	c := startNode(t, state)
	begun := deploy(t, c, state, "hotel")
	facts := Facts{}
	c.must("facts", m{}, &facts)
	core := facts.CPUs[len(facts.CPUs)-1]
	limits := m{"cpu": 0.5, "memory": 64 << 20, "cores": []int{core}, "pids": 30}
	c.must("spawn", m{"deployment": "hotel", "name": "a", "argv": []string{"sh", "-c", "grep Cpus_allowed_list /proc/self/status; id -un; ulimit -n; exec sleep 1000"}, "user": "nobody", "limits": limits}, nil)
	var text string
	eventually(t, "its log", func() bool {
		text = string(c.must("log", m{"deployment": "hotel", "name": "a", "lines": 5, "most_bytes": 1000}, nil))
		return strings.Count(text, "\n") == 3
	})
	hard := syscall.Rlimit{}
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &hard)
	if want := "Cpus_allowed_list:\t" + strconv.Itoa(core) + "\nnobody\n" + strconv.FormatUint(hard.Max, 10) + "\n"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	read := Read{}
	subjects := m{"a": m{"group": *begun.Group + "/a", "folder": begun.Folder}, "b": m{"group": *begun.Group + "/b"}}
	c.must("read", m{"what": []string{"limits", "usage", "environment", "events"}, "replicas": subjects}, &read)
	a := read.Replicas["a"]
	if a.Limits == nil || *a.Limits.CPU != 0.5 || *a.Limits.Memory != 64<<20 || len(a.Limits.Cores) != 1 || a.Limits.Cores[0] != uint64(core) {
		t.Errorf("%+v", a.Limits)
	}
	if a.Usage == nil || a.Usage.Processes != 1 || a.Usage.Memory == 0 || a.Events == nil || a.Environment == nil {
		t.Errorf("%+v %+v %+v", a.Usage, a.Events, a.Environment)
	}
	for kind, owner := range a.Environment.Namespaces {
		if owner != facts.Namespaces[kind] && facts.Namespaces[kind] != "" {
			t.Errorf("%s: %q, that of its node is %q", kind, owner, facts.Namespaces[kind])
		}
	}
	if files := a.Environment.Files; files == nil || files.Type == "" || a.Environment.Container != "" {
		t.Errorf("%+v", a.Environment)
	}
	if read.Replicas["b"].Absent == "" {
		t.Errorf("%+v", read.Replicas["b"])
	}
	peaks := Peaks{}
	c.must("peaks", m{"replicas": subjects}, &peaks)
	if peaks.Peaks["a"] != (facts.Cgroups == "v1") || peaks.Peaks["b"] {
		t.Errorf("%+v", peaks)
	}
	c.fails("spawn", m{"deployment": "hotel", "name": "b", "argv": []string{"true"}, "limits": m{"memory": 1}}, Failed, "1 MiB or more")
	c.fails("read", m{"what": []string{"all"}}, Input, "read limits, usage, environment, events or io")
	c.fails("read", m{"replicas": m{"x": m{"group": "../etc"}}}, Input, "is no group that may be read")
}

// A process whose group has others below it, as a container engine's host needs; others may join those.
func TestGroupsBelowThatOfAProcess(t *testing.T) {
	limited(t)
	state := t.TempDir()
	c := startNode(t, state)
	begun, facts := Begun{}, Facts{}
	c.must("facts", m{}, &facts)
	core := facts.CPUs[0]
	c.must("begin", m{"deployment": "cluster", "digest": "1", "owner": "test", "limits": m{"cores": []int{core}}}, &begun)
	t.Cleanup(func() { startNode(t, state).must("end", m{"deployment": "cluster"}, nil) })
	spawned := Spawned{}
	c.must("spawn", m{"deployment": "cluster", "name": "host", "argv": []string{"sleep", "1000"}, "groups": []string{"daemons", "containers"}}, &spawned)
	kernel, err := groups.Find("/proc", "")
	if err != nil {
		t.Fatal(err)
	}
	daemons := *begun.Group + "/host/daemons"
	if !slices.Equal(kernel.Processes(daemons), []int{spawned.PID}) || !kernel.Exists(*begun.Group+"/host/containers") {
		t.Errorf("in %s: %v, not %d", daemons, kernel.Processes(daemons), spawned.PID)
	}
	path, err := stone()
	if err != nil {
		t.Fatal(err)
	}
	joining := exec.Command(path, "node", JoinVerb, daemons, "sh", "-c", "grep Cpus_allowed_list /proc/self/status; cat /proc/self/cgroup")
	text, err := joining.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(text), "Cpus_allowed_list:\t"+strconv.Itoa(core)+"\n") || !strings.Contains(string(text), daemons+"\n") {
		t.Errorf("%v: %s", err, text)
	}
	if text, err := exec.Command(path, "node", JoinVerb, "loadstone/none", "true").CombinedOutput(); err == nil || !strings.Contains(string(text), "cannot join a control group") {
		t.Errorf("%v: %s", err, text)
	}
	c.fails("spawn", m{"deployment": "cluster", "name": "other", "argv": []string{"true"}, "groups": []string{"../x"}}, Input, "is no name of a group")
	c.must("stop", m{"deployment": "cluster", "names": []string{"host"}, "signal": "KILL", "grace_s": 0}, nil)
	if left := kernel.Processes(*begun.Group); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestAProcessThatRunsOutOfMemory(t *testing.T) {
	limited(t)
	state := t.TempDir()
	c := startNode(t, state)
	deploy(t, c, state, "hotel")
	c.must("spawn", m{"deployment": "hotel", "name": "a", "argv": []string{"sh", "-c", "x=$(head -c 100000000 /dev/zero | tr '\\0' a); echo $x"}, "limits": m{"memory": 16 << 20}}, nil)
	var found Process
	eventually(t, "it was killed", func() bool { found = only(t, c, "hotel"); return found.OOMKills != nil && *found.OOMKills > 0 })
}

// A long log is read from its end, within the requested memory.
func TestTheEndOfALongLog(t *testing.T) {
	state := t.TempDir()
	c := startNode(t, state)
	deploy(t, c, state, "hotel")
	c.must("spawn", m{"deployment": "hotel", "name": "a", "argv": []string{"true"}}, nil)
	path := filepath.Join(state, "deployments", "hotel", "logs", "a.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	line := bytes.Repeat([]byte("x"), 999)
	block := bytes.Repeat(append(line, '\n'), 1000)
	for range 200 {
		if _, err := file.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = file.WriteString("last but one\nlast\n")
	_ = file.Close()
	before := peakMemory(t, c)
	logged := Logged{}
	if text := c.must("log", m{"deployment": "hotel", "name": "a", "lines": 2, "most_bytes": 1000}, &logged); string(text) != "last but one\nlast\n" || logged.Truncated {
		t.Errorf("%q %+v", text, logged)
	}
	if text := c.must("log", m{"deployment": "hotel", "name": "a", "lines": 1 << 40, "most_bytes": 4 << 20}, &logged); len(text) != 4<<20 || !logged.Truncated {
		t.Errorf("%d bytes, %+v", len(text), logged)
	}
	if grown := peakMemory(t, c) - before; grown > 40<<20 {
		t.Errorf("the node took %d MB for it", grown>>20)
	}
	c.fails("log", m{"deployment": "hotel", "name": "b", "lines": 2, "most_bytes": 1000}, Missing, "was never spawned")
	c.fails("log", m{"deployment": "hotel", "name": "a", "lines": 2, "most_bytes": 1 << 30}, Input, "at most 4194304 bytes")
}

// peakMemory is what a node has taken at most, in bytes.
func peakMemory(t *testing.T, c *client) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(c.command.Process.Pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// Without control groups a deployment has no limits but cores; its processes are stopped and ended with their kin.
func TestADeploymentWithoutControlGroups(t *testing.T) {
	state := t.TempDir()
	c := startNode(t, state, "--cgroup", "/no/such/mounts")
	begun, facts := deploy(t, c, state, "hotel"), Facts{}
	c.must("facts", m{}, &facts)
	if begun.Group != nil || begun.UnlimitedBecause == "" || facts.Cgroups != "" || facts.UnlimitedBecause != begun.UnlimitedBecause {
		t.Errorf("%+v %+v", begun, facts)
	}
	core := facts.CPUs[len(facts.CPUs)-1]
	for _, name := range []string{"a", "b"} {
		script := "trap '' TERM; grep Cpus_allowed_list /proc/self/status; sleep 1000 & setsid sleep 1000 & echo $!; wait; sleep 1000"
		c.must("spawn", m{"deployment": "hotel", "name": name, "argv": []string{"sh", "-c", script}, "limits": m{"cores": []int{core}}}, nil)
	}
	children := map[string]string{}
	for _, name := range []string{"a", "b"} {
		eventually(t, "its log", func() bool {
			text := string(c.must("log", m{"deployment": "hotel", "name": name, "lines": 3, "most_bytes": 100}, nil))
			allowed, child, _ := strings.Cut(text, "\n")
			children[name] = child
			return strings.HasSuffix(allowed, "\t"+strconv.Itoa(core)) && strings.HasSuffix(child, "\n")
		})
	}
	stopped, ended := Stopped{}, Ended{}
	c.must("stop", m{"deployment": "hotel", "names": []string{"a"}, "signal": "TERM", "grace_s": 0.2}, &stopped)
	gone(t, children["a"])
	c.must("end", m{"deployment": "hotel"}, &ended)
	gone(t, children["b"])
	if len(stopped.Killed) != 1 || len(ended.Running) != 1 || ended.Running[0] != "b" {
		t.Errorf("%+v %+v", stopped, ended)
	}
	c.fails("read", m{"what": []string{"limits"}, "replicas": m{}}, Missing, "counters cannot be read")
}

// Each deployment of root's has a user of its own, who runs also what lies in a folder that is closed to that user.
func TestADeploymentHasAUserOfItsOwn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	state := t.TempDir()
	c := startNode(t, state)
	first, second := deploy(t, c, state, "hotel"), deploy(t, c, state, "social")
	if first.User == "" || first.User == second.User {
		t.Errorf("users %q and %q", first.User, second.User)
	}
	program, err := os.ReadFile("/bin/cat")
	hidden := filepath.Join(t.TempDir(), "program")
	if err != nil || os.Chmod(filepath.Dir(hidden), 0o700) != nil || os.WriteFile(hidden, program, 0o755) != nil {
		t.Fatal(err)
	}
	c.must("spawn", m{"deployment": "hotel", "name": "x", "argv": []string{hidden, "/proc/self/status"}, "user": first.User}, nil)
	want := "Uid:\t" + strings.Join([]string{first.User, first.User, first.User, first.User}, "\t")
	eventually(t, "its log", func() bool {
		return strings.Contains(string(c.must("log", m{"deployment": "hotel", "name": "x", "lines": 100, "most_bytes": 10000}, nil)), want)
	})
	for _, folder := range []string{filepath.Join(state, "deployments"), first.Folder} {
		found, err := os.Stat(folder)
		if err != nil || found.Mode().Perm() != 0o711 {
			t.Errorf("%s: %v, %v: who can open a folder can lock it", folder, found.Mode(), err)
		}
	}
}
