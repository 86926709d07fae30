package counters

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"loadstone.dev/stone/node/groups"
)

// Any contents of the kernel's files give a valid answer, or an error.
func FuzzFilesOfTheKernel(f *testing.F) {
	for _, cpu := range []string{"150000 100000", "max 100000", "-1", "1 0", ""} {
		for _, other := range []string{"9223372036854771712", "usage_usec 10\nnr_throttled 4", "0", ""} {
			f.Add(cpu+"\n", other+"\n")
		}
	}
	others := []string{
		"memory.max", "cpu.stat", "memory.current", "memory.events", "memory.peak", "cpu.cfs_period_us", "memory.limit_in_bytes",
		"cpuacct.usage", "memory.usage_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control",
	}
	folder := f.TempDir()
	at := place{"cpu": folder, "cpuacct": folder, "cpuset": folder, "memory": folder}
	put := func(t *testing.T, name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, cpu, other string) {
		put(t, "cpu.max", cpu)
		put(t, "cpu.cfs_quota_us", cpu)
		for _, name := range others {
			put(t, name, other)
		}
		for _, version := range []files{version1{}, version2{}} {
			all := hierarchies{map[string]groups.Mount{"cpu": {Point: folder}, "memory": {Point: folder}}, version}
			limits, _ := all.limits(at)
			usage, _ := version.usage(at)
			if _, err := json.Marshal(Standing{Limits: &limits, Usage: &usage}); err != nil {
				t.Errorf("%q, %q: %v", cpu, other, err)
			}
		}
	})
}
