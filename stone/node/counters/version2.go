package counters

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// version2 is one hierarchy for all controllers (Documentation/admin-guide/cgroup-v2.rst of Linux).
type version2 struct{}

func (version2) cpu(folder string) (*float64, error) {
	text, err := read(folder, "cpu.max")
	if errors.Is(err, fs.ErrNotExist) { // the root has none, nor has a group that is handed no CPU controller
		return nil, nil
	}
	quota, period, _ := strings.Cut(text, " ")
	if err != nil || quota == "max" {
		return nil, err
	}
	granted, wrong := strconv.ParseInt(quota, 10, 64)
	of, wrongToo := strconv.ParseInt(period, 10, 64)
	if wrong != nil || wrongToo != nil || of <= 0 {
		return nil, unreadable(folder, "cpu.max", text)
	}
	return scaled(&granted, float64(of)), nil
}

func (version2) memory(folder string) (*int64, error) {
	if text, err := read(folder, "memory.max"); errors.Is(err, fs.ErrNotExist) || text == "max" {
		return nil, nil
	}
	limit, err := readNumber(folder, "memory.max")
	if err != nil || limit >= noMemoryLimit {
		return nil, err
	}
	return &limit, nil
}

func (version2) usage(at place) (usage Usage, err error) {
	folder := at["memory"]
	cpu, err := readFlat(folder, "cpu.stat")
	if err != nil {
		return usage, err
	}
	used := cpu["usage_usec"]
	if used == nil {
		return usage, errors.New(folder + "/cpu.stat has no usage_usec")
	}
	memory, err := readNumber(folder, "memory.current")
	if err != nil {
		return usage, err
	}
	events, err := readFlat(folder, "memory.events")
	if err != nil {
		return usage, err
	}
	usage = Usage{
		CPUSeconds:       float64(*used) / 1e6,
		Periods:          cpu["nr_periods"],
		ThrottledPeriods: cpu["nr_throttled"],
		ThrottledSeconds: scaled(cpu["throttled_usec"], 1e6),
		Memory:           memory,
		OOMKills:         events["oom_kill"],
	}
	peak, err := readNumber(folder, "memory.peak")
	if errors.Is(err, fs.ErrNotExist) { // before Linux 5.19
		return usage, nil
	}
	usage.MemoryPeak = &peak
	return usage, err
}

// newPeak: Linux 6.12 resets the peak only for the open file, which no other reader would see.
func (version2) newPeak(place) bool { return false }

func (version2) of(line procfs.Cgroup, _ string) bool { return line.HierarchyID == 0 }

func (version2) sources() []source {
	return []source{
		{controller: "memory", file: "cpu.stat", counters: []counter{
			{"usage_usec", "container_cpu_seconds_total", 1e6},
			{"user_usec", "container_cpu_user_seconds_total", 1e6},
			{"system_usec", "container_cpu_system_seconds_total", 1e6},
			{"nr_periods", "container_periods_total", 1},
			{"nr_throttled", "container_throttled_periods_total", 1},
			{"throttled_usec", "container_throttled_seconds_total", 1e6},
		}},
		{controller: "memory", file: "memory.current", counters: []counter{{"", "container_memory_bytes", 1}}},
		{controller: "memory", file: "io.stat", devices: true, counters: []counter{
			{"rbytes", "container_block_read_bytes_total", 1},
			{"wbytes", "container_block_written_bytes_total", 1},
		}},
		{controller: "memory", file: "cgroup.procs", members: "container_processes"},
		{controller: "memory", file: "pids.current", counters: []counter{{"", "container_threads", 1}}},
		{controller: "memory", file: "cgroup.threads", members: "container_threads"},
	}
}
