package counters

// Metrics are all that is counted, and what each is.
var Metrics = map[string]string{
	"cpu_user_seconds_total":    "Time in programs, guests of virtual machines included (/proc/stat).",
	"cpu_nice_seconds_total":    "Time in programs of low priority (/proc/stat).",
	"cpu_system_seconds_total":  "Time in the kernel (/proc/stat).",
	"cpu_idle_seconds_total":    "Time idle (/proc/stat).",
	"cpu_iowait_seconds_total":  "Time idle while input or output was outstanding (/proc/stat).",
	"cpu_irq_seconds_total":     "Time in interrupts (/proc/stat).",
	"cpu_softirq_seconds_total": "Time in deferred work of interrupts (/proc/stat).",
	"cpu_steal_seconds_total":   "Time that the hypervisor gave to others (/proc/stat).",
	"reference_seconds_total":   "Processor time of a computation that is always the same (stone's own, in samples).",
	"reference_loops_total":     "How often it was done; a sample is a part of it.",
	"frequency_hertz":           "What the processor runs at (cpufreq's scaling_cur_freq).",
	"cstate_seconds_total":      "Time in this idle state (cpuidle's time).",
	"cstate_transitions_total":  "How often this idle state was entered (cpuidle's usage).",

	"context_switches_total": "Changes from one thread to another (/proc/stat).",
	"interrupts_total":       "Interrupts served (/proc/stat).",
	"forks_total":            "Processes and threads made (/proc/stat).",
	"processes_running":      "Threads that run or could (/proc/stat).",
	"processes_blocked":      "Threads that wait for input or output (/proc/stat).",
	"load1":                  "Load average of a minute (/proc/loadavg).",
	"load5":                  "Load average of 5 minutes (/proc/loadavg).",
	"load15":                 "Load average of 15 minutes (/proc/loadavg).",

	"memory_total_bytes":       "MemTotal (/proc/meminfo).",
	"memory_available_bytes":   "MemAvailable: what programs could still have without swapping (/proc/meminfo).",
	"memory_free_bytes":        "MemFree: not in use (/proc/meminfo).",
	"memory_user_bytes":        "AnonPages + Mapped: programs' own memory, and files that they have mapped (/proc/meminfo).",
	"memory_cached_bytes":      "Cached: the page cache, with tmpfs and shared memory (/proc/meminfo).",
	"memory_buffers_bytes":     "Buffers: blocks of disks that are no contents of files (/proc/meminfo).",
	"memory_slab_bytes":        "Slab: data structures of the kernel (/proc/meminfo).",
	"memory_page_tables_bytes": "PageTables (/proc/meminfo).",
	"memory_swap_cached_bytes": "SwapCached: memory whose copy in the swap is still current (/proc/meminfo).",
	"swap_used_bytes":          "SwapTotal - SwapFree (/proc/meminfo).",

	"clock_offset_seconds": "How far this clock is ahead of NTP's time; negative: behind (chronyd).",
	"clock_error_seconds":  "How far off it is at most: |offset| + root dispersion + root delay / 2 (chronyd).",

	"disk_read_bytes_total":       "Bytes read (/proc/diskstats).",
	"disk_written_bytes_total":    "Bytes written (/proc/diskstats).",
	"disk_reads_completed_total":  "Reads completed (/proc/diskstats).",
	"disk_writes_completed_total": "Writes completed (/proc/diskstats).",
	"disk_busy_seconds_total":     "Time with anything outstanding (/proc/diskstats).",

	"network_received_bytes_total":      "Bytes received (/proc/1/net/dev).",
	"network_transmitted_bytes_total":   "Bytes sent (/proc/1/net/dev).",
	"network_received_packets_total":    "Packets received (/proc/1/net/dev).",
	"network_transmitted_packets_total": "Packets sent (/proc/1/net/dev).",
	"network_received_dropped_total":    "Packets received and thrown away (/proc/1/net/dev).",
	"network_transmitted_dropped_total": "Packets thrown away instead of sent (/proc/1/net/dev).",

	"energy_joules_total": "Energy used (powercap's energy_uj without its beginning anew, or perf's power events).",

	"container_cpu_seconds_total":        "Processor time (cpuacct.usage; cpu.stat's usage_usec).",
	"container_cpu_user_seconds_total":   "Processor time in programs (cpuacct.usage_user; cpu.stat's user_usec).",
	"container_cpu_system_seconds_total": "Processor time in the kernel (cpuacct.usage_sys; cpu.stat's system_usec).",
	"container_periods_total":            "Periods of the CPU limit in which it ran (cpu.stat's nr_periods).",
	"container_throttled_periods_total":  "Of these, periods whose limit was used up (cpu.stat's nr_throttled).",
	"container_throttled_seconds_total":  "Time held back by the limit, summed over processors (cpu.stat's throttled_time; throttled_usec).",
	"container_memory_bytes":             "Memory, the page cache included (memory.usage_in_bytes; memory.current).",
	"container_processes":                "Processes in its group, without groups below (lines of cgroup.procs).",
	"container_threads":                  "Threads in its group (pids.current, groups below included; without the pids controller lines of tasks or cgroup.threads).",

	"container_block_read_bytes_total":    "Bytes read from devices (blkio.throttle.io_service_bytes; io.stat's rbytes).",
	"container_block_written_bytes_total": "Bytes written to devices, when they reach them (blkio.throttle.io_service_bytes; io.stat's wbytes).",

	"container_network_received_bytes_total":    "Bytes received in its network namespace, the loopback left out (/proc/PID/net/dev).",
	"container_network_transmitted_bytes_total": "Bytes sent in its network namespace, the loopback left out (/proc/PID/net/dev).",
}
