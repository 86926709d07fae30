package counters

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// TestRecordingOnThisKernel reads a real group of processes again and again.
func TestRecordingOnThisKernel(t *testing.T) {
	host, err := Open(Roots{Proc: "/proc", Sys: "/sys"})
	if err != nil {
		t.Skip(err)
	}
	group := fmt.Sprintf("loadstone/agent-test-%d/rate-1", os.Getpid())
	var folders []string
	for controller, mount := range host.groups.mounts {
		folder := filepath.Join(mount.Point, group)
		if controller == "cpuset" || slices.Contains(folders, folder) {
			continue // a new cpuset of version 1 has no cores
		}
		folders = append(folders, folder)
		t.Cleanup(func() {
			removeGroup(t, folder)
			_ = os.Remove(filepath.Dir(filepath.Dir(folder))) // if it is empty
		})
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Skipf("needs to make control groups: %v", err)
		}
	}
	join := func() {
		sleeper := exec.Command("sleep", "1000")
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }) // before the groups are removed
		for _, folder := range folders {
			tell(t, filepath.Join(folder, "cgroup.procs"), strconv.Itoa(sleeper.Process.Pid))
		}
	}
	join()
	opened, err := host.openReplicas(t.Context(), map[string]Subject{"rate-1": {Group: group}})
	if err != nil {
		t.Fatal(err)
	}
	node := host.openNode()
	opened.join(node)
	defer opened.close()
	for members := range 3 {
		got := readings(t, &opened)
		want := float64(members + 1)
		if got["replica:rate-1 container_processes"] != want || got["replica:rate-1 container_threads"] != want {
			t.Errorf("%v processes, %v threads, want %v", got["replica:rate-1 container_processes"], got["replica:rate-1 container_threads"], want)
		}
		if got["node memory_total_bytes"] <= 0 || got["node cpu_user_seconds_total"] <= 0 {
			t.Errorf("reported %v, %v", only(got, "node"), opened.absent)
		}
		for _, some := range []string{"container_cpu_seconds_total", "container_memory_bytes", "container_periods_total"} {
			if _, is := got["replica:rate-1 "+some]; !is {
				t.Errorf("no %s: %v", some, only(got, "replica:"))
			}
		}
		if _, is := got["replica:rate-1 container_network_received_bytes_total"]; is {
			t.Error("the network of the node was taken for that of the replica")
		}
		join()
	}
}
