package counters

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	geo  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	rate = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
	gone = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

// tree writes files below a folder.
func tree(t testing.TB, folder string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// process writes what /proc says of one.
func process(t testing.TB, proc string, pid int, state, cores, groups string) {
	t.Helper()
	folder := strconv.Itoa(pid)
	tree(t, proc, map[string]string{
		folder + "/cgroup": groups,
		folder + "/status": "Name:\tstone\nCpus_allowed:\tf\nCpus_allowed_list:\t" + cores + "\n",
		folder + "/stat":   folder + " (stone) " + state + strings.Repeat(" 0", 50) + "\n",
	})
}

// imitation is a /proc whose own process is 1, with these mounts; %s in them stands for the folder of control groups.
func imitation(t *testing.T, mountinfo string) (proc, cgroup string) {
	t.Helper()
	proc, cgroup = filepath.Join(t.TempDir(), "proc"), filepath.Join(t.TempDir(), "cgroup")
	tree(t, proc, map[string]string{"1/mountinfo": strings.ReplaceAll(mountinfo, "%s", cgroup)})
	if err := os.Symlink("1", filepath.Join(proc, "self")); err != nil {
		t.Fatal(err)
	}
	return proc, cgroup
}

func open(t *testing.T, proc, cgroup string) *Host {
	t.Helper()
	host, err := Open(Roots{Proc: proc, Sys: t.TempDir(), Cgroup: cgroup})
	if err != nil {
		t.Fatal(err)
	}
	return host
}

// subjects are containers, named by their ids.
func subjects(ids ...string) map[string]Subject {
	wanted := map[string]Subject{}
	for _, id := range ids {
		wanted[id] = Subject{Container: id}
	}
	return wanted
}

// limitsAndUsage of containers, as they go over the wire; the reason, where there are none.
func limitsAndUsage(t *testing.T, host *Host, ids ...string) map[string]string {
	t.Helper()
	found, err := host.Standings(t.Context(), subjects(ids...), Parts{Limits: true, Usage: true})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for id, standing := range found {
		text, err := json.Marshal(struct {
			Limits *Limits `json:"limits"`
			Usage  *Usage  `json:"usage"`
		}{standing.Limits, standing.Usage})
		if err != nil {
			t.Fatal(err)
		}
		texts[id] = cmp.Or(standing.Absent, string(text))
	}
	return texts
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

const mounts1 = `20 1 0:28 / %s rw - tmpfs tmpfs rw
21 20 0:29 / %s/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct
22 20 0:30 / %s/cpuset rw - cgroup cgroup rw,cpuset
23 20 0:31 / %s/memory rw - cgroup cgroup rw,memory
24 20 0:32 / %s/systemd rw - cgroup cgroup rw,name=systemd
25 20 0:33 / %s/unified rw - cgroup2 cgroup2 rw
27 20 0:35 / %s/blkio rw - cgroup cgroup rw,blkio
`

// host1 is a hybrid machine with version 1, as Docker uses it without systemd. Its containers: geo, half a core by the
// group above, and rate, without limits and without processes.
func host1(t *testing.T) (host *Host, proc, cgroup string) {
	t.Helper()
	proc, cgroup = imitation(t, mounts1)
	counters := func(id string) map[string]string {
		return map[string]string{
			"cpu,cpuacct/docker/" + id + "/cpu.stat":             "nr_periods 10\nnr_throttled 4\nthrottled_time 300000000\n",
			"cpu,cpuacct/docker/" + id + "/cpuacct.usage":        "2500000000\n",
			"cpuset/docker/" + id + "/cpuset.effective_cpus":     "0-3\n",
			"memory/docker/" + id + "/memory.usage_in_bytes":     "4096\n",
			"memory/docker/" + id + "/memory.max_usage_in_bytes": "8192\n",
			"memory/docker/" + id + "/memory.oom_control":        "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
			"memory/docker/" + id + "/memory.limit_in_bytes":     "9223372036854771712\n",
			"cpu,cpuacct/docker/" + id + "/cpu.cfs_quota_us":     "-1\n",
		}
	}
	tree(t, cgroup, map[string]string{
		"unified/cgroup.controllers":           "\n",
		"cpu,cpuacct/docker/cpu.cfs_quota_us":  "50000\n",
		"cpu,cpuacct/docker/cpu.cfs_period_us": "100000\n",
		"memory/memory.limit_in_bytes":         "9223372036854771712\n",
		"memory/docker/memory.limit_in_bytes":  "9223372036854771712\n",
	})
	tree(t, cgroup, counters(geo))
	tree(t, cgroup, counters(rate))
	tree(t, cgroup, map[string]string{
		"memory/docker/" + geo + "/memory.limit_in_bytes":   "67108864\n",
		"cpu,cpuacct/docker/" + geo + "/cpu.cfs_quota_us":   "100000\n",
		"cpu,cpuacct/docker/" + geo + "/cpu.cfs_period_us":  "100000\n",
		"cpu,cpuacct/docker/" + rate + "/cpu.cfs_quota_us":  "1\n",
		"cpu,cpuacct/docker/" + rate + "/cpu.cfs_period_us": "4\n",
	})
	inside := "3:memory:/docker/" + geo + "\n2:cpu,cpuacct:/docker/" + geo + "\n0::/\n"
	process(t, proc, 30, "S", "0-3", inside)
	process(t, proc, 7, "S", "1-2,5", inside)
	process(t, proc, 3, "Z", "", inside)
	process(t, proc, 2, "S", "0-7", "3:memory:/\n2:cpu,cpuacct:/docker/"+geo+"\n0::/\n") // it has not joined all yet
	return open(t, proc, ""), proc, cgroup
}

func TestVersion1(t *testing.T) {
	host, _, cgroup := host1(t)
	got := limitsAndUsage(t, host, geo, rate, gone)
	counted := `"usage":{"cpu_s":2.5,"periods":10,"throttled_periods":4,"throttled_s":0.3,"memory":4096,"memory_peak":8192,"oom_kills":2,"pids":`
	same(t, got[geo], `{"limits":{"cpu":0.5,"memory":67108864,"cores":[1,2,5]},`+counted+`2}}`)
	same(t, got[rate], `{"limits":{"cpu":0.25,"memory":null,"cores":null},`+counted+`0}}`)
	same(t, got[gone], "no control group of it is on this machine")

	peak := filepath.Join(cgroup, "memory/docker", geo, "memory.max_usage_in_bytes")
	fresh, err := host.NewPeaksOf(t.Context(), subjects(geo, gone))
	if err != nil || !maps.Equal(fresh, map[string]bool{geo: true, gone: false}) {
		t.Errorf("new peaks: %v, %v", fresh, err)
	}
	if text, _ := os.ReadFile(peak); !strings.HasPrefix(string(text), "0") {
		t.Errorf("the kernel was given %q", text)
	}
}

func TestVersion1SaysWhatItCannotRead(t *testing.T) {
	host, _, cgroup := host1(t)
	limit := filepath.Join(cgroup, "memory/docker", geo, "memory.limit_in_bytes")
	if err := os.WriteFile(limit, []byte("much\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(cgroup, "cpuset/docker", rate)); err != nil {
		t.Fatal(err)
	}
	got := limitsAndUsage(t, host, geo, rate)
	same(t, got[geo], limit+` holds "much", which is no number`)
	same(t, got[rate], "it has no control group for cpuset")
}

// host2 is version 2 as the kubelet uses it with systemd, seen from a container with a control group namespace of its
// own: first what that container has mounted for itself, then the host's, and paths that are relative to it.
func host2(t *testing.T) (*Host, string) {
	t.Helper()
	proc, cgroup := imitation(t, "30 1 0:40 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n31 1 0:40 /../../.. %s ro - cgroup2 cgroup2 rw\n")
	pod := "kubepods.slice/kubepods-pod1.slice/"
	tree(t, cgroup, map[string]string{
		"cgroup.controllers": "cpuset cpu io memory pids\n",
		"cpu.stat":           "usage_usec 9\n",
		pod + "cpu.max":      "max 100000\n",
		pod + "memory.max":   "max\n",
		pod + "cri-containerd-" + geo + ".scope/cpu.max":            "150000 100000\n",
		pod + "cri-containerd-" + geo + ".scope/memory.max":         "67108864\n",
		pod + "cri-containerd-" + geo + ".scope/memory.current":     "4096\n",
		pod + "cri-containerd-" + geo + ".scope/memory.peak":        "8192\n",
		pod + "cri-containerd-" + geo + ".scope/memory.events":      "low 0\nmax 3\noom 1\noom_kill 2\n",
		pod + "cri-containerd-" + geo + ".scope/cpu.stat":           "usage_usec 2500000\nnr_periods 10\nnr_throttled 4\nthrottled_usec 300000\n",
		pod + "cri-containerd-" + rate + ".scope/memory.current":    "1\n",
		pod + "cri-containerd-" + rate + ".scope/memory.events":     "low 0\n",
		pod + "cri-containerd-" + rate + ".scope/cpu.stat":          "usage_usec 1000000\n",
		pod + "cri-containerd-" + rate + ".scope/init/cgroup.procs": "",
	})
	process(t, proc, 7, "S", "3", "0::/../cri-containerd-"+geo+".scope\n")
	process(t, proc, 8, "R", "0-3", "0::/../cri-containerd-"+rate+".scope/init\n")
	return open(t, proc, cgroup), cgroup
}

func TestVersion2(t *testing.T) {
	host, cgroup := host2(t)
	got := limitsAndUsage(t, host, geo, rate)
	same(t, got[geo], `{"limits":{"cpu":1.5,"memory":67108864,"cores":[3]},"usage":{"cpu_s":2.5,"periods":10,`+
		`"throttled_periods":4,"throttled_s":0.3,"memory":4096,"memory_peak":8192,"oom_kills":2,"pids":1}}`)
	same(t, got[rate], `{"limits":{"cpu":null,"memory":null,"cores":[0,1,2,3]},"usage":{"cpu_s":1,"periods":null,`+
		`"throttled_periods":null,"throttled_s":null,"memory":1,"memory_peak":null,"oom_kills":null,"pids":1}}`)
	if fresh, err := host.NewPeaksOf(t.Context(), subjects(geo)); err != nil || fresh[geo] {
		t.Errorf("new peaks: %v, %v", fresh, err)
	}
	tree(t, cgroup, map[string]string{"kubepods.slice/cpu.max": "25000 50000\n", "kubepods.slice/memory.max": "1048576\n"})
	if got := limitsAndUsage(t, host, geo)[geo]; !strings.Contains(got, `"limits":{"cpu":0.5,"memory":1048576,`) {
		t.Errorf("a tighter limit above is what counts, got %s", got)
	}
	tree(t, cgroup, map[string]string{"kubepods.slice/memory.max": "9223372036853727232\n"})
	if got := limitsAndUsage(t, host, geo)[geo]; !strings.Contains(got, `"limits":{"cpu":0.5,"memory":67108864,`) {
		t.Errorf("the largest limit that can be written is none, got %s", got)
	}
	tree(t, cgroup, map[string]string{"kubepods.slice/cpu.max": "some\n"})
	same(t, limitsAndUsage(t, host, geo)[geo], cgroup+`/kubepods.slice/cpu.max holds "some", which is no number`)
}

// Nomad tells no containers' ids: theirs are the ones whose processes have mounted an allocation's folders.
func TestContainersOfAllocations(t *testing.T) {
	host, proc, _ := host1(t)
	const allocation, finished = "0a1b2c3d-1111-2222-3333-444455556666", "0a1b2c3d-1111-2222-3333-444455557777"
	mounted := "50 40 8:1 /var/nomad/alloc/" + allocation + "/geo/local /local rw - ext4 /dev/sda1 rw\n"
	tree(t, proc, map[string]string{"7/mountinfo": mounted, "2/mountinfo": mounted, "30/mountinfo": "nonsense"})
	got := limitsAndUsage(t, host, allocation, finished, rate)
	if !strings.HasPrefix(got[allocation], `{"limits":{"cpu":0.5,"memory":67108864,"cores":[1,2,5]},`) {
		t.Errorf("got %s", got[allocation])
	}
	same(t, got[finished], "no control group of it is on this machine")
	if !strings.HasPrefix(got[rate], `{"limits"`) {
		t.Errorf("got %s", got[rate])
	}
	fresh, err := host.NewPeaksOf(t.Context(), subjects(allocation, finished))
	if err != nil || !maps.Equal(fresh, map[string]bool{allocation: true, finished: false}) {
		t.Errorf("new peaks: %v, %v", fresh, err)
	}
}

func TestWhereThereAreNoControlGroups(t *testing.T) {
	proc, cgroup := imitation(t, "25 20 0:33 / %s/unified rw - cgroup2 cgroup2 rw\n21 20 0:29 / %s/cpu rw - cgroup cgroup rw,cpu\n")
	for folder, want := range map[string]string{
		"":               "no control groups for cpuacct are mounted at any place in " + proc + "/self/mountinfo",
		cgroup + "/cpu/": "no control groups for cpuacct are mounted at " + cgroup + "/cpu",
		"/elsewhere":     "no control groups for cpu are mounted at /elsewhere",
	} {
		if _, err := Open(Roots{Proc: proc, Cgroup: folder}); err == nil || err.Error() != want {
			t.Errorf("--cgroup %q: %v", folder, err)
		}
	}
	for _, folder := range []string{filepath.Join(proc, "none"), cgroup} {
		if _, err := Open(Roots{Proc: folder}); err == nil {
			t.Errorf("%s is no /proc, but was taken for one", folder)
		}
	}
}

func TestAQuestionThatIsNotWaitedFor(t *testing.T) {
	host, _, _ := host1(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := host.Standings(ctx, subjects(geo), Parts{}); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// The session of this process is a container's, which sees of the hierarchies what is below its own groups.
func TestOwnLimits(t *testing.T) {
	host, proc, cgroup := host1(t)
	process(t, proc, 1, "S", "2-3", "4:cpuset:/\n3:memory:/docker/"+geo+"\n2:cpu,cpuacct:/docker/"+rate+"\n1:name=systemd:/\n0::/user\n")
	tree(t, cgroup, map[string]string{"cpuset/cpuset.cpus": "0-3\n"})
	own, err := host.Own()
	if err != nil || *own.CPU != 0.25 || *own.Memory != 64<<20 || !slices.Equal(own.Cores, []uint64{2, 3}) {
		t.Errorf("%+v, %v", own, err)
	}
	process(t, proc, 1, "S", "2-3", "3:memory:/elsewhere/x\n2:cpu,cpuacct:/\n")
	if own, err := host.Own(); err == nil {
		t.Errorf("limits without a cpuset: %+v", own)
	}
}
