package counters

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAnIntelServer(t *testing.T) {
	host, folder := machine(t, "intel.txt")
	opened := host.openNode()
	defer opened.close()
	before := readings(t, &opened)
	if len(opened.absent) != 0 {
		t.Errorf("absent: %v", opened.absent)
	}
	expect(t, before, map[string]float64{
		"node cpu_user_seconds_total":                      12045.5,
		"node cpu_nice_seconds_total":                      33.1,
		"node cpu_system_seconds_total":                    4022.1,
		"node cpu_idle_seconds_total":                      981104.5,
		"node cpu_iowait_seconds_total":                    210.4,
		"node cpu_irq_seconds_total":                       1.2,
		"node cpu_softirq_seconds_total":                   150.3,
		"node cpu_steal_seconds_total":                     0,
		"node context_switches_total":                      1288402311,
		"node interrupts_total":                            734210455,
		"node forks_total":                                 2201344,
		"node processes_running":                           3,
		"node processes_blocked":                           1,
		"node load1":                                       1.52,
		"node load5":                                       0.98,
		"node load15":                                      0.71,
		"node memory_total_bytes":                          395951872 << 10,
		"node memory_available_bytes":                      371004880 << 10,
		"node memory_free_bytes":                           301220144 << 10,
		"node memory_user_bytes":                           (18220040 + 2110080) << 10,
		"node memory_cached_bytes":                         60122100 << 10,
		"node memory_buffers_bytes":                        812044 << 10,
		"node memory_slab_bytes":                           4402210 << 10,
		"node memory_page_tables_bytes":                    120440 << 10,
		"node memory_swap_cached_bytes":                    0,
		"node swap_used_bytes":                             (8388604 - 8126460) << 10,
		"node clock_offset_seconds":                        -0.25,
		"node clock_error_seconds":                         0.5,
		"cpu:1 cpu_user_seconds_total":                     5024.5,
		"cpu:1 cpu_idle_seconds_total":                     492103.5,
		"cpu:0 frequency_hertz":                            2.9e9,
		"cpu:1 frequency_hertz":                            1.200142e9,
		"cpu:0/POLL cstate_seconds_total":                  0.12044,
		"cpu:0/C1 cstate_seconds_total":                    88.012044,
		"cpu:0/C1E cstate_transitions_total":               4402210,
		"cpu:1/C6 cstate_seconds_total":                    480221.04411,
		"cpu:1/C6 cstate_transitions_total":                7022110,
		"disk:sda disk_read_bytes_total":                   9220144 * 512,
		"disk:sda disk_written_bytes_total":                40221088 * 512,
		"disk:sda disk_reads_completed_total":              120440,
		"disk:sda disk_writes_completed_total":             802211,
		"disk:sda disk_busy_seconds_total":                 410.22,
		"disk:nvme0n1 disk_busy_seconds_total":             8.22,
		"interface:lo network_received_bytes_total":        90221044,
		"interface:eno1 network_received_bytes_total":      880221044122,
		"interface:eno1 network_received_packets_total":    902110445,
		"interface:eno1 network_received_dropped_total":    112,
		"interface:eno1 network_transmitted_bytes_total":   120440221011,
		"interface:eno1 network_transmitted_packets_total": 440221033,
		"interface:eno1 network_transmitted_dropped_total": 3,
		"power:package-0 energy_joules_total":              262143,
		"power:package-0/dram energy_joules_total":         65712,
		"power:package-1/core energy_joules_total":         44022.104411,
	})
	// 28 of the node, 9 of each processor, 2 of each of its 4 states, 5 of 2 disks, 6 of 2 interfaces, 6 zones
	if want := 28 + 2*9 + 2*4*2 + 2*5 + 2*6 + 6; len(before) != want {
		t.Errorf("%d numbers, want %d: %v", len(before), want, slices.Sorted(maps.Keys(before)))
	}

	unpack(t, "intel-later.txt", folder)
	after := readings(t, &opened)
	used := func(key string) float64 { return after[key] - before[key] }
	for key, want := range map[string]float64{
		"power:package-0 energy_joules_total":      150, // began anew
		"power:package-0/dram energy_joules_total": 20,  // began anew
		"power:package-0/core energy_joules_total": 100,
		"power:package-1 energy_joules_total":      90,
		"power:package-1/dram energy_joules_total": 0,
		"cpu:0 cpu_user_seconds_total":             0.9,
		"cpu:0/C6 cstate_seconds_total":            0.01,
		"cpu:0/C6 cstate_transitions_total":        2,
		"cpu:1/C6 cstate_seconds_total":            0,
		"node context_switches_total":              10000,
		"disk:sda disk_writes_completed_total":     100,
		"cpu:0 frequency_hertz":                    6e8,
	} {
		if got := used(key); got < want-1e-6 || got > want+1e-6 {
			t.Errorf("%s: %v more, want %v", key, got, want)
		}
	}
	unpack(t, "intel.txt", folder) // far less energy than just before: the counter begins anew once more
	if third := readings(t, &opened)["power:package-0 energy_joules_total"]; third <= after["power:package-0 energy_joules_total"] {
		t.Errorf("energy fell to %v", third)
	}
}

func TestAVirtualMachine(t *testing.T) {
	host, folder := machine(t, "virtual.txt")
	opened := host.openNode()
	defer opened.close()
	got := readings(t, &opened)
	sys := filepath.Join(folder, "sys")
	for family, want := range map[string]string{
		"frequency": "no " + sys + "/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq: the kernel has no driver for this processor's frequencies, as in most virtual machines",
		"cstate":    "no " + sys + "/devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*: the kernel chooses no idle states here, as in most virtual machines",
		"power":     "no zones in " + sys + "/class/powercap, and perf has no energy-pkg, -cores or -ram in " + sys + "/bus/event_source/devices/power/events",
	} {
		same(t, opened.absent[family], want)
	}
	if len(opened.absent) != 3 {
		t.Errorf("absent: %v", opened.absent)
	}
	expect(t, got, map[string]float64{
		"node memory_buffers_bytes":                   12044 << 10,
		"node memory_slab_bytes":                      90221 << 10,
		"node memory_page_tables_bytes":               4402 << 10,
		"node memory_swap_cached_bytes":               0,
		"node swap_used_bytes":                        0,
		"cpu:1 cpu_steal_seconds_total":               400,
		"disk:vda disk_busy_seconds_total":            728.176,
		"interface:eth0 network_received_bytes_total": 5306824323,
	})
	for _, kind := range []string{"power:", "cpu:0/", "cpu:0 frequency"} {
		if found := only(got, kind); len(found) > 0 {
			t.Errorf("found %v", found)
		}
	}
}

func TestAnAMDMachine(t *testing.T) {
	host, _ := machine(t, "amd.txt")
	opened := host.openNode()
	defer opened.close()
	got := readings(t, &opened)
	if len(opened.absent) != 0 {
		t.Errorf("absent: %v", opened.absent)
	}
	expect(t, only(got, "power:"), map[string]float64{
		"power:package-0 energy_joules_total":      402.21044,
		"power:package-0/core energy_joules_total": 12.044022,
	})
	if found := only(got, "power:"); len(found) != 2 {
		t.Errorf("found %v", found)
	}
	expect(t, got, map[string]float64{"cpu:0 frequency_hertz": 3.693e9, "cpu:0/C2 cstate_seconds_total": 80.221044})
	if found, is := got["cpu:1 frequency_hertz"]; is {
		t.Errorf("a processor that is off runs at %v", found)
	}
}

// What fails while it is read is absent for as long as it does.
func TestWhatFailsMeanwhile(t *testing.T) {
	host, folder := machine(t, "virtual.txt")
	opened := host.openNode()
	defer opened.close()
	tree(t, folder, map[string]string{"proc/loadavg": "high\n", "proc/stat": "cpu  1 2 x\n", "proc/diskstats": " 8 0 sda 1 2 3 4 5 6 7 8 9\n", "proc/1/net/dev": "head\nings\n  eth0: 1 2 x\n"})
	got := readings(t, &opened)
	if _, is := got["node load1"]; is || !strings.Contains(opened.absent["load"], "high") {
		t.Errorf("reported %v, absent %v", got["node load1"], opened.absent)
	}
	same(t, opened.absent["interface"], `net/dev holds "  eth0: 1 2 x\n", whose column 3 is no counter`)
	same(t, opened.absent["disk"], `/proc/diskstats holds " 8 0 sda 1 2 3 4 5 6 7 8 9\n", which has too few columns`)
	same(t, opened.absent["cpu"], `/proc/stat holds "x" for node, which is no time`)
	tree(t, folder, map[string]string{"proc/stat": "", "proc/diskstats": " 8 0 sda 1 b 3 4 5 6 7 8 9 10\n"})
	readings(t, &opened)
	same(t, opened.absent["disk"], `/proc/diskstats holds " 8 0 sda 1 b 3 4 5 6 7 8 9 10\n", whose column 5 is no counter`)
	same(t, opened.absent["cpu"], "/proc/stat does not begin with the time of all processors")
	unpack(t, "virtual.txt", folder)
	expect(t, readings(t, &opened), map[string]float64{"node load1": 0.12, "interface:eth0 network_transmitted_packets_total": 186892})
	if len(opened.absent) != 3 {
		t.Errorf("absent: %v", opened.absent)
	}
}
