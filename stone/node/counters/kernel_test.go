package counters

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestOnThisKernel limits a real process in a group named like a container's and reads its limits.
func TestOnThisKernel(t *testing.T) {
	host, err := Open(Roots{Proc: "/proc", Sys: "/sys"})
	if err != nil {
		t.Skip(err)
	}
	files := map[string]map[string]string{"memory": {"memory.limit_in_bytes": "33554432"}, "cpu": {"cpu.cfs_quota_us": "25000"}}
	if _, unified := host.groups.files.(version2); unified {
		files = map[string]map[string]string{"memory": {"memory.max": "33554432", "cpu.max": "25000 100000"}}
	}
	command := exec.Command("sleep", "1000")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	id := fmt.Sprintf("%064x", os.Getpid())
	var folders []string
	for controller, mount := range host.groups.mounts {
		folder := filepath.Join(mount.Point, "stone-agent-test", id)
		if slices.Contains(folders, folder) {
			continue
		}
		folders = append(folders, folder)
		t.Cleanup(func() { removeGroup(t, folder) })
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Skipf("needs to make control groups: %v", err)
		}
		if controller == "cpuset" {
			continue // the process stays where it is: a new cpuset has no cores
		}
		for file, value := range files[controller] {
			tell(t, filepath.Join(folder, file), value)
		}
		tell(t, filepath.Join(folder, "cgroup.procs"), strconv.Itoa(command.Process.Pid))
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() }) // before the groups are removed

	answer, err := host.Standings(t.Context(), subjects(id, gone), Parts{Limits: true, Usage: true})
	if err != nil {
		t.Fatal(err)
	}
	one := answer[id]
	if one.Absent != "" || answer[gone].Absent == "" {
		t.Fatalf("got %+v", answer)
	}
	if *one.Limits.CPU != 0.25 || *one.Limits.Memory != 33554432 || len(one.Limits.Cores) == 0 || one.Usage.Processes != 1 {
		t.Errorf("limits %v %v %v, %d processes", *one.Limits.CPU, *one.Limits.Memory, one.Limits.Cores, one.Usage.Processes)
	}
	fresh, err := host.NewPeaksOf(t.Context(), subjects(id))
	if _, first := host.groups.files.(version1); err != nil || fresh[id] != first {
		t.Errorf("new peaks: %v, %v", fresh, err)
	}
}

func tell(t *testing.T, file, value string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
		t.Skipf("needs to set limits: %v", err)
	}
}

// removeGroup waits for the kernel, which lets go of a killed process a little later.
func removeGroup(t *testing.T, folder string) {
	for {
		err := syscall.Rmdir(folder)
		if !errors.Is(err, syscall.EBUSY) {
			if err != nil && !errors.Is(err, syscall.ENOENT) {
				t.Error(err)
			}
			break
		}
		time.Sleep(time.Millisecond)
	}
	_ = syscall.Rmdir(filepath.Dir(folder))
}
