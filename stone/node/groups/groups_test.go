package groups

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// writeFiles writes files below a folder.
func writeFiles(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// kernelOf finds the control groups that a made-up /proc says are mounted.
func kernelOf(t *testing.T, mountinfo string) *Kernel {
	t.Helper()
	proc := t.TempDir()
	writeFiles(t, proc, map[string]string{"1/mountinfo": mountinfo, "1/stat": ""})
	if err := os.Symlink("1", filepath.Join(proc, "self")); err != nil {
		t.Fatal(err)
	}
	kernel, err := Find(proc, "")
	if err != nil {
		t.Fatal(err)
	}
	return kernel
}

func limit[T any](value T) *T { return &value }

// What is written into the files of version 1, whose order matters to the kernel.
func TestVersion1(t *testing.T) {
	root := t.TempDir()
	mounts := ""
	for i, name := range []string{"cpu,cpuacct", "memory", "cpuset", "pids", "freezer"} {
		mounts += strconv.Itoa(30+i) + " 25 0:2" + strconv.Itoa(i) + " / " + root + "/" + name + " rw - cgroup cgroup rw," + name + "\n"
	}
	writeFiles(t, root, map[string]string{
		"cpuset/cpuset.cpus": "0-3\n", "cpuset/cpuset.mems": "0\n", "freezer/x": "",
		// Folders of the kernel come with their files.
		"cpuset/loadstone/cpuset.cpus": "", "cpuset/loadstone/cpuset.mems": "",
		"cpuset/loadstone/a/cpuset.cpus": "", "cpuset/loadstone/a/cpuset.mems": "",
		"cpu,cpuacct/loadstone/a/cpu.cfs_period_us": "", "cpu,cpuacct/loadstone/a/cpu.cfs_quota_us": "-1",
		"memory/loadstone/a/memory.limit_in_bytes": "9223372036854771712", "memory/loadstone/a/memory.memsw.limit_in_bytes": "9223372036854771712",
		"pids/loadstone/a/pids.max": "max",
	})
	kernel := kernelOf(t, mounts)
	if kernel.Version() != "v1" || kernel.Problem() != "" {
		t.Fatalf("%q %q", kernel.Version(), kernel.Problem())
	}
	for _, example := range []struct {
		limits Limits
		want   map[string]string
	}{
		{Limits{limit(0.5), limit(int64(1 << 26)), []int{1, 2, 3}, limit(int64(9))}, map[string]string{
			"cpu,cpuacct/loadstone/a/cpu.cfs_quota_us": "50000", "cpu,cpuacct/loadstone/a/cpu.cfs_period_us": "100000",
			"memory/loadstone/a/memory.limit_in_bytes": "67108864", "memory/loadstone/a/memory.memsw.limit_in_bytes": "67108864",
			"cpuset/loadstone/a/cpuset.cpus": "1-3", "cpuset/loadstone/a/cpuset.mems": "0", "cpuset/loadstone/cpuset.cpus": "0-3",
			"pids/loadstone/a/pids.max": "9",
		}},
		{Limits{}, map[string]string{
			"cpu,cpuacct/loadstone/a/cpu.cfs_quota_us": "-1", "memory/loadstone/a/memory.limit_in_bytes": "-1",
			"cpuset/loadstone/a/cpuset.cpus": "0-3", "pids/loadstone/a/pids.max": "max",
		}},
	} {
		if err := kernel.Make("loadstone/a", example.limits); err != nil {
			t.Fatal(err)
		}
		for file, want := range example.want {
			// Ordinary files keep what a shorter write leaves behind; the kernel's do not.
			if text, _ := os.ReadFile(filepath.Join(root, file)); !strings.HasPrefix(string(text), want) {
				t.Errorf("%s holds %q, want %q", file, text, want)
			}
		}
	}
	if joining := kernel.Joining("loadstone/a"); len(joining) != 4 || !slices.Contains(joining, root+"/pids/loadstone/a/cgroup.procs") {
		t.Errorf("joins by %q", joining)
	}
}

// An engine has made groups of containers in hierarchies that hold no limits of ours.
func TestGroupsOfEnginesAreRemoved(t *testing.T) {
	root := t.TempDir()
	mounts := ""
	for i, name := range []string{"cpu", "cpuacct", "memory", "cpuset", "devices"} {
		mounts += strconv.Itoa(30+i) + " 25 0:2" + strconv.Itoa(i) + " / " + root + "/" + name + " rw - cgroup cgroup rw," + name + "\n"
	}
	mounts += "40 25 0:40 / " + root + "/systemd rw - cgroup cgroup rw,name=systemd\n"
	mounts += "41 25 0:41 / " + root + "/unified rw - cgroup2 cgroup2 rw\n"
	for _, name := range []string{"memory", "devices", "systemd", "unified"} {
		if err := os.MkdirAll(filepath.Join(root, name, "loadstone/a/pod/container"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := kernelOf(t, mounts).Remove(context.Background(), "loadstone/a"); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(root + "/*/loadstone"); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

func TestVersion2(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{"cgroup.controllers": "cpuset cpu io memory pids\n", "cgroup.subtree_control": "", "loadstone/cgroup.subtree_control": ""}
	for _, name := range []string{"cpu.max", "memory.max", "memory.swap.max", "pids.max", "cpuset.cpus"} {
		files["loadstone/a/"+name] = ""
	}
	writeFiles(t, root, files)
	kernel := kernelOf(t, "30 25 0:26 / "+root+" rw - cgroup2 cgroup2 rw\n")
	if kernel.Version() != "v2" || kernel.Problem() != "" {
		t.Fatalf("%q %q", kernel.Version(), kernel.Problem())
	}
	if err := kernel.Make("loadstone/a", Limits{limit(1.5), limit(int64(1 << 26)), []int{0, 2}, nil}); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"cgroup.subtree_control": "+cpu +memory +cpuset +pids", "loadstone/cgroup.subtree_control": "+cpu +memory +cpuset +pids",
		"loadstone/a/cpu.max": "150000 100000", "loadstone/a/memory.max": "67108864", "loadstone/a/memory.swap.max": "0",
		"loadstone/a/pids.max": "max", "loadstone/a/cpuset.cpus": "0,2\n",
	} {
		if text, _ := os.ReadFile(filepath.Join(root, file)); string(text) != want {
			t.Errorf("%s holds %q, want %q", file, text, want)
		}
	}
}

func TestWhereNoLimitsCanBeSet(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, map[string]string{"cgroup.controllers": "cpuset cpu memory\n"})
	unified := "30 25 0:26 / " + root + " rw - cgroup2 cgroup2 rw\n"
	if kernel := kernelOf(t, unified); kernel.Problem() != "the controllers pids are not available in "+root {
		t.Errorf("%q", kernel.Problem())
	}
	writeFiles(t, root, map[string]string{"cgroup.controllers": "cpuset cpu memory pids\n", "cgroup.type": "domain\n", "cgroup.procs": "1\n", "cgroup.subtree_control": ""})
	if kernel := kernelOf(t, unified); kernel.Problem() != root+" holds processes itself, so it cannot hand controllers down (are we in a container?)" {
		t.Errorf("%q", kernel.Problem())
	}
	if kernel := kernelOf(t, ""); kernel.Version() != "" || kernel.Problem() != "no control groups with limits are mounted on this machine" {
		t.Errorf("%q %q", kernel.Version(), kernel.Problem())
	}
	if kernel := kernelOf(t, "30 25 0:26 / "+root+"/memory rw - cgroup cgroup rw,memory\n"); kernel.Problem() != "no control groups for cpu are mounted" {
		t.Errorf("%q", kernel.Problem())
	}
}

func TestLimitsThatAreNone(t *testing.T) {
	for _, limits := range []Limits{{CPU: limit(0.0)}, {CPU: limit(-1.0)}, {CPU: limit(1e9)}, {Memory: limit(int64(0))}, {PIDs: limit(int64(0))}} {
		if limits.check() == nil {
			t.Errorf("%+v is taken", limits)
		}
	}
}

func TestListsOfCores(t *testing.T) {
	for want, cores := range map[string][]int{"": nil, "3": {3}, "0-2,5": {5, 1, 0, 2, 1}, "1,3,5-6": {1, 3, 5, 6}} {
		if got := formatCores(cores); got != want {
			t.Errorf("%v: %q, want %q", cores, got, want)
		}
	}
}

// A real group is limited anew, up and down; a tighter group above it is not outdone.
func TestLimitsOnThisKernel(t *testing.T) {
	kernel, group := onThisKernel(t)
	cpu, memory := []string{"cpu.cfs_quota_us", "cpu.max"}, []string{"memory.limit_in_bytes", "memory.max"}
	for _, example := range []struct {
		limits      Limits
		cpu, memory string
	}{
		{Limits{CPU: limit(0.5), Memory: limit(int64(64 << 20))}, "50000", "67108864"},
		{Limits{CPU: limit(1.0), Memory: limit(int64(256 << 20))}, "100000", "268435456"},
		{Limits{CPU: limit(0.25), Memory: limit(int64(32 << 20))}, "25000", "33554432"},
	} {
		if err := kernel.Make(group+"/a", example.limits); err != nil {
			t.Fatal(err)
		}
		if got := first(kernel, group+"/a", cpu); strings.Fields(got)[0] != example.cpu {
			t.Errorf("cpu: %s, want %s", got, example.cpu)
		}
		if got := first(kernel, group+"/a", memory); got != example.memory {
			t.Errorf("memory: %s, want %s", got, example.memory)
		}
	}
	if err := kernel.Make(group+"/a", Limits{}); err != nil || first(kernel, group+"/a", cpu)[:1] == "2" {
		t.Errorf("%v, cpu: %s", err, first(kernel, group+"/a", cpu))
	}
	if err := kernel.Make(group, Limits{CPU: limit(0.25)}); err != nil {
		t.Fatal(err)
	}
	err := kernel.Make(group+"/a", Limits{CPU: limit(1.0)})
	if kernel.Version() == "v1" && (err == nil || !strings.Contains(err.Error(), "does a group above it have a smaller quota?")) {
		t.Errorf("%v", err)
	}
}

// first is the content of the first of some files that a group has.
func first(kernel *Kernel, group string, files []string) string {
	for _, folder := range kernel.folders(group) {
		for _, file := range files {
			if text := read(folder, file); text != "" {
				return text
			}
		}
	}
	return ""
}

// onThisKernel is a real group of the test alone, removed when it ends.
func onThisKernel(t *testing.T) (kernel *Kernel, group string) {
	t.Helper()
	kernel, err := Find("/proc", "")
	if err != nil || kernel.Problem() != "" {
		t.Skip("needs to make control groups: ", kernel.Problem(), err)
	}
	group = "loadstone/groups-test-" + strconv.Itoa(os.Getpid())
	t.Cleanup(func() { _ = kernel.Kill(context.Background(), group); _ = kernel.Remove(context.Background(), group) })
	return kernel, group
}

// A real group with a group below it is killed and removed, whatever its processes fork meanwhile.
func TestOnThisKernel(t *testing.T) {
	kernel, group := onThisKernel(t)
	ctx := context.Background()
	for _, name := range []string{group, group + "/a"} {
		if err := kernel.Make(name, Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	forks := exec.Command("sh", "-c", "read x; while true; do sleep 1000 & sleep 0.001; done")
	begin, err := forks.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := forks.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = forks.Wait() }()
	for _, file := range kernel.Joining(group + "/a") {
		if err := os.WriteFile(file, []byte(strconv.Itoa(forks.Process.Pid)), 0); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = begin.Write([]byte("\n"))
	for len(kernel.Processes(group)) < 20 {
	}
	if err := kernel.Kill(ctx, group); err != nil || len(kernel.Processes(group)) != 0 {
		t.Errorf("%v, left %v", err, kernel.Processes(group))
	}
	if err := kernel.Remove(ctx, group); err != nil || kernel.Exists(group) {
		t.Errorf("%v, there: %v", err, kernel.Exists(group))
	}
	if err := kernel.Remove(ctx, group); err != nil {
		t.Errorf("again: %v", err)
	}
}
