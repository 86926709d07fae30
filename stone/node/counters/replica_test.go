package counters

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const netDev = "Inter-|\n face |\n" +
	"    lo: 500 5 0 0 0 0 0 0 500 5 0 0 0 0 0 0\n" +
	"  eth0: 1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0\n" +
	"  eth1: 30 1 0 0 0 0 0 0 4 1 0 0 0 0 0 0\n"

// inNetwork puts a process into a network namespace.
func inNetwork(t testing.TB, proc, pid, namespace string) {
	t.Helper()
	tree(t, proc, map[string]string{pid + "/net/dev": netDev})
	if err := os.MkdirAll(filepath.Join(proc, pid, "ns"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("net:["+namespace+"]", filepath.Join(proc, pid, "ns/net")); err != nil {
		t.Fatal(err)
	}
}

func replicas(t testing.TB, host *Host, wanted map[string]Subject) *set {
	t.Helper()
	opened, err := host.openReplicas(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.close)
	return &opened
}

func TestReplicasOfVersion1(t *testing.T) {
	host, proc, cgroup := host1(t)
	for _, id := range []string{geo, rate} {
		tree(t, cgroup, map[string]string{
			"cpu,cpuacct/docker/" + id + "/cpuacct.usage_user": "2000000000\n",
			"cpu,cpuacct/docker/" + id + "/cpuacct.usage_sys":  "500000000\n",
			"memory/docker/" + id + "/cgroup.procs":            "7\n30\n",
			"memory/docker/" + id + "/tasks":                   "7\n8\n9\n30\n",
			"blkio/docker/" + id + "/blkio.throttle.io_service_bytes": "8:0 Read 4096\n8:0 Write 100\n8:0 Total 4196\n" +
				"8:16 Read 4\n8:16 Write 1\n8:16 Total 5\nTotal 4201\n",
		})
	}
	tree(t, cgroup, map[string]string{
		"memory/loadstone/x/rate-1/memory.usage_in_bytes": "77\n",
		"memory/loadstone/x/rate-1/cgroup.procs":          "41\n40\n",
		"cpu,cpuacct/loadstone/x/rate-1/cpu.stat":         "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
		"memory/docker/" + rate + "/cgroup.procs":         "",
	})
	inNetwork(t, proc, "1", "1000")
	inNetwork(t, proc, "7", "2000")
	inNetwork(t, proc, "40", "1000")
	opened := replicas(t, host, map[string]Subject{
		"geo-1": {Container: geo}, "geo-2": {Container: gone}, "rate-1": {Group: "loadstone/x/rate-1"}, "rate-2": {Group: "loadstone/x/rate-2"},
	})
	got := readings(t, opened)
	want := map[string]float64{
		"replica:geo-1 container_cpu_seconds_total":               2.5,
		"replica:geo-1 container_cpu_user_seconds_total":          2,
		"replica:geo-1 container_cpu_system_seconds_total":        0.5,
		"replica:geo-1 container_periods_total":                   10,
		"replica:geo-1 container_throttled_periods_total":         4,
		"replica:geo-1 container_throttled_seconds_total":         0.3,
		"replica:geo-1 container_memory_bytes":                    4096,
		"replica:geo-1 container_processes":                       2,
		"replica:geo-1 container_block_read_bytes_total":          4100,
		"replica:geo-1 container_block_written_bytes_total":       101,
		"replica:geo-1 container_threads":                         4,
		"replica:geo-1 container_network_received_bytes_total":    1030,
		"replica:geo-1 container_network_transmitted_bytes_total": 2004,
		"replica:rate-1 container_periods_total":                  0,
		"replica:rate-1 container_throttled_periods_total":        0,
		"replica:rate-1 container_throttled_seconds_total":        0,
		"replica:rate-1 container_memory_bytes":                   77,
		"replica:rate-1 container_processes":                      2,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	missing := map[string]string{
		"replica:geo-2":  "no control group of " + gone + " when the recording began",
		"replica:rate-2": "no control group of loadstone/x/rate-2 when the recording began",
	}
	if !maps.Equal(opened.absent, missing) {
		t.Errorf("absent: %v", opened.absent)
	}

	tree(t, cgroup, map[string]string{
		"cpu,cpuacct/docker/" + geo + "/cpuacct.usage": "3500000000\n",
		"memory/docker/" + geo + "/cgroup.procs":       "7\n30\n31\n",
	})
	if err := os.RemoveAll(filepath.Join(cgroup, "memory/loadstone/x/rate-1")); err != nil {
		t.Fatal(err)
	}
	got = readings(t, opened)
	expect(t, got, map[string]float64{"replica:geo-1 container_cpu_seconds_total": 3.5, "replica:geo-1 container_processes": 3})
	path := filepath.Join(cgroup, "memory/loadstone/x/rate-1/cgroup.procs")
	left := "its control group cannot be read any more: open " + path + ": no such file or directory"
	same(t, opened.absent["replica:rate-1"], left)
	if found := only(readings(t, opened), "replica:rate-1"); len(found) != 0 || opened.absent["replica:rate-1"] != left {
		t.Errorf("of what went away: %v, %v", found, opened.absent)
	}
}

// Version 1 lists no members to a reader in another PID namespace: then they are not counted, rather than none.
func TestMembersThatAreHidden(t *testing.T) {
	host, _, cgroup := host1(t)
	tree(t, cgroup, map[string]string{
		"memory/docker/" + geo + "/cgroup.procs": "",
		"memory/docker/" + geo + "/tasks":        "",
	})
	got := readings(t, replicas(t, host, map[string]Subject{"geo-1": {Container: geo}}))
	expect(t, got, map[string]float64{"replica:geo-1 container_memory_bytes": 4096})
	for _, metric := range []string{"container_processes", "container_threads"} {
		if found, is := got["replica:geo-1 "+metric]; is {
			t.Errorf("%s: %v", metric, found)
		}
	}
}

func TestReplicasOfVersion2(t *testing.T) {
	host, cgroup := host2(t)
	pod := "kubepods.slice/kubepods-pod1.slice/cri-containerd-"
	tree(t, cgroup, map[string]string{
		pod + geo + ".scope/cpu.stat":        "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\nnr_periods 10\nnr_throttled 4\nthrottled_usec 300000\nnr_bursts 0\n",
		pod + geo + ".scope/io.stat":         "8:16 rbytes=4096 wbytes=100 rios=2 wios=1 dbytes=0 dios=0\n8:0 rbytes=4 wbytes=1 rios=1 wios=1 dbytes=0 dios=0\n",
		pod + rate + ".scope/io.stat":        "",
		pod + geo + ".scope/cgroup.procs":    "0\n0\n",
		pod + geo + ".scope/pids.current":    "9\n",
		pod + geo + ".scope/cgroup.threads":  "0\n0\n0\n",
		pod + rate + ".scope/cgroup.procs":   "12\n",
		pod + rate + ".scope/cgroup.threads": "12\n13\n",
	})
	got := readings(t, replicas(t, host, map[string]Subject{"geo-1": {Container: geo}, "rate-1": {Container: rate}}))
	want := map[string]float64{
		"replica:geo-1 container_cpu_seconds_total":          2.5,
		"replica:geo-1 container_cpu_user_seconds_total":     2,
		"replica:geo-1 container_cpu_system_seconds_total":   0.5,
		"replica:geo-1 container_periods_total":              10,
		"replica:geo-1 container_throttled_periods_total":    4,
		"replica:geo-1 container_throttled_seconds_total":    0.3,
		"replica:geo-1 container_memory_bytes":               4096,
		"replica:geo-1 container_processes":                  2,
		"replica:geo-1 container_block_read_bytes_total":     4100,
		"replica:geo-1 container_block_written_bytes_total":  101,
		"replica:rate-1 container_block_read_bytes_total":    0,
		"replica:rate-1 container_block_written_bytes_total": 0,
		"replica:geo-1 container_threads":                    9,
		"replica:rate-1 container_cpu_seconds_total":         1,
		"replica:rate-1 container_memory_bytes":              1,
		"replica:rate-1 container_processes":                 1,
		"replica:rate-1 container_threads":                   2,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// Where the pids controller is mounted it counts threads, and the container's folder there is found.
func TestThreadsOfVersion1(t *testing.T) {
	proc, cgroup := imitation(t, mounts1+"26 20 0:34 / %s/pids rw - cgroup cgroup rw,pids\n")
	tree(t, cgroup, map[string]string{
		"memory/docker/" + geo + "/tasks":           "7\n",
		"memory/docker/" + geo + "/cgroup.procs":    "7\n",
		"pids/elsewhere/" + geo + "/pids.current":   "12\n",
		"cpuset/docker/" + geo + "/x":               "",
		"cpu,cpuacct/docker/" + geo + "/cpu.shares": "2\n",
	})
	host := open(t, proc, "")
	got := readings(t, replicas(t, host, map[string]Subject{"geo-1": {Container: geo}}))
	if want := map[string]float64{"replica:geo-1 container_processes": 1, "replica:geo-1 container_threads": 12}; !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestWhatIsNoSubject(t *testing.T) {
	for _, example := range []struct {
		subject Subject
		want    string
	}{
		{Subject{}, `give either its "container" or its "group"`},
		{Subject{Container: geo, Group: "loadstone/x"}, `give either its "container" or its "group"`},
		{Subject{Container: "geo"}, `"geo" is no container's id: give all of its 64 hexadecimal digits, or Nomad's allocation`},
		{Subject{Group: "loadstone/../docker"}, `"loadstone/../docker" is no group that may be read: give a path like loadstone/DEPLOYMENT/REPLICA`},
		{Subject{Group: "docker/x"}, `"docker/x" is no group that may be read: give a path like loadstone/DEPLOYMENT/REPLICA`},
		{Subject{Group: "loadstone/"}, `"loadstone/" is no group that may be read: give a path like loadstone/DEPLOYMENT/REPLICA`},
		{Subject{Group: "/loadstone/x"}, `"/loadstone/x" is no group that may be read: give a path like loadstone/DEPLOYMENT/REPLICA`},
		{Subject{Group: "loadstone/x/rate-1"}, ""},
		{Subject{Container: geo}, ""},
	} {
		got := ""
		if err := example.subject.Problem(); err != nil {
			got = err.Error()
		}
		same(t, got, example.want)
	}
}

func TestEverySourceIsExplained(t *testing.T) {
	for _, source := range slices.Concat(version1{}.sources(), version2{}.sources()) {
		metrics := []string{source.members}
		for _, counter := range source.counters {
			metrics = append(metrics, counter.metric)
		}
		for _, metric := range metrics {
			if metric != "" && Metrics[metric] == "" {
				t.Errorf("%s is not explained", metric)
			}
		}
	}
}
