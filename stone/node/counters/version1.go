package counters

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/prometheus/procfs"
)

// version1 is a hierarchy per controller (Documentation/admin-guide/cgroup-v1 of Linux).
type version1 struct{}

// noMemoryLimit: from so many bytes on a limit is none. The kernel writes 'no limit' as the largest whole
// number of pages, and who cannot leave a limit out gives the largest that he can.
const noMemoryLimit = 1 << 62

func (version1) cpu(folder string) (*float64, error) {
	quota, err := readNumber(folder, "cpu.cfs_quota_us")
	switch {
	case errors.Is(err, fs.ErrNotExist): // the root of some kernels
		return nil, nil
	case err != nil || quota <= 0:
		return nil, err
	}
	period, err := readNumber(folder, "cpu.cfs_period_us")
	if err != nil || period <= 0 {
		return nil, err
	}
	return scaled(&quota, float64(period)), nil
}

func (version1) memory(folder string) (*int64, error) {
	limit, err := readNumber(folder, "memory.limit_in_bytes")
	if err != nil || limit >= noMemoryLimit {
		return nil, err
	}
	return &limit, nil
}

func (version1) usage(at place) (usage Usage, err error) {
	used, err := readNumber(at["cpuacct"], "cpuacct.usage")
	if err != nil {
		return usage, err
	}
	cpu, err := readFlat(at["cpu"], "cpu.stat")
	if err != nil {
		return usage, err
	}
	memory, err := readNumber(at["memory"], "memory.usage_in_bytes")
	if err != nil {
		return usage, err
	}
	peak, err := readNumber(at["memory"], "memory.max_usage_in_bytes")
	if err != nil {
		return usage, err
	}
	kills, err := readFlat(at["memory"], "memory.oom_control")
	return Usage{
		CPUSeconds:       float64(used) / 1e9,
		Periods:          cpu["nr_periods"],
		ThrottledPeriods: cpu["nr_throttled"],
		ThrottledSeconds: scaled(cpu["throttled_time"], 1e9),
		Memory:           memory,
		MemoryPeak:       &peak,
		OOMKills:         kills["oom_kill"],
	}, err
}

func (version1) newPeak(at place) bool {
	file, err := os.OpenFile(filepath.Join(at["memory"], "memory.max_usage_in_bytes"), os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	_, err = file.WriteString("0")
	return errors.Join(err, file.Close()) == nil
}

func (version1) of(line procfs.Cgroup, controller string) bool {
	return slices.Contains(line.Controllers, controller)
}

func (version1) sources() []source {
	return []source{
		{controller: "cpuacct", file: "cpuacct.usage", counters: []counter{{"", "container_cpu_seconds_total", 1e9}}},
		{controller: "cpuacct", file: "cpuacct.usage_user", counters: []counter{{"", "container_cpu_user_seconds_total", 1e9}}},
		{controller: "cpuacct", file: "cpuacct.usage_sys", counters: []counter{{"", "container_cpu_system_seconds_total", 1e9}}},
		{controller: "cpu", file: "cpu.stat", counters: []counter{
			{"nr_periods", "container_periods_total", 1},
			{"nr_throttled", "container_throttled_periods_total", 1},
			{"throttled_time", "container_throttled_seconds_total", 1e9},
		}},
		{controller: "memory", file: "memory.usage_in_bytes", counters: []counter{{"", "container_memory_bytes", 1}}},
		{controller: blockIO, file: "blkio.throttle.io_service_bytes", devices: true, counters: []counter{
			{"Read", "container_block_read_bytes_total", 1},
			{"Write", "container_block_written_bytes_total", 1},
		}},
		{controller: "memory", file: "cgroup.procs", members: "container_processes"},
		{controller: threadCounter, file: "pids.current", counters: []counter{{"", "container_threads", 1}}},
		{controller: "memory", file: "tasks", members: "container_threads"},
	}
}
