package tuning

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Kernels as they show themselves: a server of Intel's, one of AMD's, and a small virtual machine. Names and words are
// those of real kernels; the machines are as small as they can be to have all their parts.

const (
	cpuTree    = "sys/devices/system/cpu"
	thpFile    = "sys/kernel/mm/transparent_hugepage/enabled"
	numaFile   = "proc/sys/kernel/numa_balancing"
	bootFile   = "proc/sys/kernel/random/boot_id"
	swapsFile  = "proc/swaps"
	swapsTitle = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority"
	uncoreTree = cpuTree + "/intel_uncore_frequency"
)

type idleLatency struct {
	name    string
	latency int
}

var (
	intelStates = []idleLatency{{"POLL", 0}, {"C1", 2}, {"C1E", 10}, {"C6", 133}}
	amdStates   = []idleLatency{{"POLL", 0}, {"C1", 1}, {"C2", 400}}
	vmStates    = []idleLatency{{"POLL", 0}, {"haltpoll", 1}}
	intelPolicy = map[string]string{
		"scaling_governor":              "powersave",
		"scaling_available_governors":   "performance powersave",
		"energy_performance_preference": "balance_power",
		"scaling_min_freq":              "1000000",
		"scaling_max_freq":              "3000000",
		"cpuinfo_min_freq":              "800000",
		"cpuinfo_max_freq":              "3000000",
		"base_frequency":                "2200000",
	}
	amdPolicy = map[string]string{
		"scaling_governor":              "ondemand",
		"scaling_available_governors":   "conservative ondemand userspace powersave performance schedutil",
		"scaling_min_freq":              "1500000",
		"scaling_max_freq":              "2000000",
		"cpuinfo_min_freq":              "1500000",
		"cpuinfo_max_freq":              "2800000",
		"scaling_available_frequencies": "2800000 2000000 1500000",
	}
)

func common(cores int, thp, flags string, states []idleLatency) map[string]string {
	everywhere := fmt.Sprintf("0-%d", cores-1)
	files := map[string]string{
		cpuTree + "/online":             everywhere,
		bootFile:                        "0b5cf6a8-3c5e-4a53-8d8e-3a8a53c0b5a1",
		thpFile:                         strings.Replace("always madvise never", thp, "["+thp+"]", 1),
		numaFile:                        "1",
		"proc/cpuinfo":                  "processor\t: 0\nflags\t\t: fpu vme " + flags + "\npower management: ts [13] [14]",
		"proc/stat":                     "cpu  900 10 60 9000 20 0 5 5 0 0\ncpu0 450 5 30 4500 10 0 3 2 0 0\nintr 1 2 3",
		swapsFile:                       swapsTitle,
		"proc/1/comm":                   "systemd",
		"proc/irq/26/smp_affinity_list": "1",
		"proc/irq/default_smp_affinity": "f",
		cpuTree + "/smt/control":        "notsupported",
		cpuTree + "/smt/active":         "0",
	}
	for _, number := range []int{0, 9, 24, 25} {
		files[fmt.Sprintf("proc/irq/%d/smp_affinity_list", number)] = everywhere
	}
	for core := range cores {
		for number, state := range states {
			folder := fmt.Sprintf("%s/cpu%d/cpuidle/state%d", cpuTree, core, number)
			files[folder+"/name"] = state.name
			files[folder+"/latency"] = fmt.Sprint(state.latency)
			files[folder+"/disable"] = "0"
		}
	}
	return files
}

func policies(files map[string]string, cores int, policy map[string]string) {
	for core := range cores {
		for name, text := range policy {
			files[fmt.Sprintf("%s/cpufreq/policy%d/%s", cpuTree, core, name)] = text
		}
	}
}

// intel: two packages of a core with two threads each, intel_pstate, four C-states, uncore, swap, irqbalance.
func intel() map[string]string {
	files := common(4, "always", "constant_tsc", intelStates)
	policies(files, 4, intelPolicy)
	maps.Copy(files, map[string]string{
		cpuTree + "/intel_pstate/no_turbo":          "0",
		cpuTree + "/smt/control":                    "on",
		cpuTree + "/smt/active":                     "1",
		"proc/700/comm":                             "irqbalance",
		"sys/class/powercap/intel-rapl:0/energy_uj": "1",
		swapsFile: swapsTitle +
			"\n/dev/sda2                               partition\t8388604\t\t512\t\t-2" +
			"\n/var/swap\\040file                       file\t\t1048572\t\t0\t\t5",
	})
	for _, kind := range []string{"", "initial_"} {
		for pkg := range 2 {
			die := fmt.Sprintf("%s/package_0%d_die_00/%s", uncoreTree, pkg, kind)
			files[die+"min_freq_khz"] = "1200000"
			files[die+"max_freq_khz"] = "2400000"
		}
	}
	return files
}

// amd: acpi-cpufreq with three steps and boost; no hardware threads to switch, no swap, one package.
func amd() map[string]string {
	files := common(2, "madvise", "constant_tsc", amdStates)
	policies(files, 2, amdPolicy)
	files[cpuTree+"/cpufreq/boost"] = "1"
	return files
}

// vm: no frequencies, no turbo; of idle states only those that do not leave the guest.
func vm() map[string]string {
	files := common(2, "madvise", "hypervisor", vmStates)
	files["proc/stat"] = "cpu  60 0 20 10 0 0 0 10 0 0"
	return files
}

// lay writes a machine's files below a folder.
func lay(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, path, text)
	}
	return root
}

func put(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// contents is every file below, byte for byte.
func contents(t testing.TB, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, root+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// same fails with the files that differ.
func same(t testing.TB, when string, found, before map[string]string) {
	t.Helper()
	for name, text := range before {
		if now, there := found[name]; !there || now != text {
			t.Errorf("%s: %s is %q, was %q", when, name, now, text)
		}
	}
	for name := range found {
		if _, there := before[name]; !there {
			t.Errorf("%s: %s was not there", when, name)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}
