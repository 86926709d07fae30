package counters

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// standings are those of replicas, as JSON.
func standings(t *testing.T, host *Host, wanted map[string]Subject) map[string]string {
	t.Helper()
	found, err := host.Standings(t.Context(), wanted, Parts{true, true, true, true, true})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for name, standing := range found {
		text, err := json.Marshal(standing)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

// A group of ours on version 1, whose first process has a network of its own.
func TestAGroupOnVersion1(t *testing.T) {
	host, proc, cgroup := host1(t)
	const at = "loadstone/x/rate-1/"
	tree(t, cgroup, map[string]string{
		"cpu,cpuacct/" + at + "cpu.cfs_quota_us": "50000\n", "cpu,cpuacct/" + at + "cpu.cfs_period_us": "100000\n",
		"cpu,cpuacct/" + at + "cpu.stat": "nr_periods 9\nnr_throttled 2\nthrottled_time 1000000000\n", "cpu,cpuacct/" + at + "cpuacct.usage": "2000000000\n",
		"cpuset/" + at + "cpuset.cpus": "0\n", "memory/" + at + "memory.limit_in_bytes": "8192\n",
		"memory/" + at + "memory.usage_in_bytes": "4096\n", "memory/" + at + "memory.max_usage_in_bytes": "5000\n",
		"memory/" + at + "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "memory/" + at + "cgroup.procs": "900\n",
		"cpu,cpuacct/loadstone/x/cpu.cfs_quota_us": "-1\n", "cpu,cpuacct/loadstone/cpu.cfs_quota_us": "-1\n",
		"memory/loadstone/x/memory.limit_in_bytes": "9223372036854771712\n", "memory/loadstone/memory.limit_in_bytes": "9223372036854771712\n",
	})
	process(t, proc, 900, "S", "0", "3:memory:/loadstone/x/rate-1\n")
	tree(t, proc, map[string]string{"900/mountinfo": "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 0:9 / /data rw - tmpfs tmpfs rw\n22 20 0:9 / /data2 rw - xfs /dev/sdb rw\n"})
	for link, target := range map[string]string{
		"900/ns/net": "net:[2]", "1/ns/net": "net:[1]", "900/ns/uts": "uts:[7]", "1/ns/uts": "uts:[7]", "900/ns/pid": "pid:[4026531836]",
	} {
		path := filepath.Join(proc, link)
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.Remove(path)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	got := standings(t, host, map[string]Subject{"rate-1": {Group: "loadstone/x/rate-1", Folder: "/data/a"}, "gone": {Group: "loadstone/x/gone"}, "geo-1": {Container: gone}})
	const none = `{"absent":"no control group of it is on this machine","limits":null,"usage":null,"environment":null,"events":null,"io":null}`
	if got["gone"] != none || got["geo-1"] != none {
		t.Errorf("got %s, %s", got["gone"], got["geo-1"])
	}
	same(t, got["rate-1"], `{"absent":"","limits":{"cpu":0.5,"memory":8192,"cores":[0]},`+
		`"usage":{"cpu_s":2,"periods":9,"throttled_periods":2,"throttled_s":1,"memory":4096,"memory_peak":5000,"oom_kills":3,"pids":1},`+
		`"environment":{"container":"","namespaces":{"cgroup":"","ipc":"","mnt":"","net":"own","pid":"kernel","user":"","uts":"node"},`+
		`"files":{"point":"/data","type":"tmpfs"}},"events":{"oom_kills":3,"forks_refused":null},"io":null}`)
	if peaks, err := host.NewPeaksOf(t.Context(), map[string]Subject{"a": {Group: "loadstone/x/rate-1"}, "b": {Group: "loadstone/x/gone"}}); err != nil || !peaks["a"] || peaks["b"] {
		t.Errorf("%v, %v", peaks, err)
	}
	if kills := host.OOMKills("loadstone/x/rate-1"); kills == nil || *kills != 3 || host.OOMKills("loadstone/x/gone") != nil {
		t.Errorf("%v kills", kills)
	}
}
