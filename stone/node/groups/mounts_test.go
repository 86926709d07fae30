package groups

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A hybrid machine mounts version 2 without the controllers; in a container, only what is below its own groups is seen.
func TestMountsOfAHybridMachine(t *testing.T) {
	proc := t.TempDir()
	writeFiles(t, proc, map[string]string{"1/mountinfo": "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n" +
		"32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n" +
		"33 31 0:30 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n" +
		"34 31 0:29 / /elsewhere/cpu rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"})
	if err := os.Symlink("1", filepath.Join(proc, "self")); err != nil {
		t.Fatal(err)
	}
	mounts, err := FindMounts(proc, "/sys/fs/cgroup/")
	if err != nil || mounts.Version != "v1" || len(mounts.Of) != 2 {
		t.Fatalf("%+v, %v", mounts, err)
	}
	if all := []string{"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"}; !slices.Equal(mounts.All, all) {
		t.Errorf("all: %q", mounts.All)
	}
	for path, want := range map[string]string{"/docker/abc/x": "/x", "/docker/abc": "", "/elsewhere": "", "/docker/abcd": ""} {
		if got := mounts.Of["cpu"].Folder(path); got != "/sys/fs/cgroup/cpu,cpuacct"+want {
			t.Errorf("%s: %s", path, got)
		}
	}
	if mounts, err := FindMounts(proc, "/elsewhere"); err != nil || mounts.Of["cpuacct"].Point != "/elsewhere/cpu" {
		t.Errorf("%+v, %v", mounts, err)
	}
}
