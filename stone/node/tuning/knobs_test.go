package tuning

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// whole is the tuning of a published study of C-states and power, and all else.
func whole() Tuning {
	return Tuning{
		Governor: "performance", Frequency: &Bounds{2_200_000_000, 2_200_000_000}, Turbo: "off", SMT: "off",
		CStates: &IdleStates{Names: []string{"POLL", "C1"}}, Uncore: &Bounds{2_000_000_000, 2_000_000_000},
		Swap: "off", THP: "never", NUMABalancing: "off", IRQs: []int{0},
	}
}

func keysOf(all []knob) []string {
	var keys []string
	for _, k := range all {
		keys = append(keys, k.about().key)
	}
	return keys
}

func TestEveryKeyOfATuningHasItsKnobBeforeThoseThatItDisturbs(t *testing.T) {
	var fields []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Tuning]()) {
		fields = append(fields, strings.TrimSuffix(field.Tag.Get("json"), ",omitempty"))
	}
	order := keysOf(knobs)
	if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, slices.Sorted(slices.Values(fields))) {
		t.Fatalf("knobs %v, keys %v", sorted, fields)
	}
	if found := keysOf(wanted(whole())); !slices.Equal(found, order) {
		t.Errorf("wanted %v", found)
	}
	for i, k := range knobs {
		for _, disturbed := range k.about().disturbs {
			if slices.Index(order, disturbed) <= i {
				t.Errorf("%s is set before %s, which disturbs it", disturbed, order[i])
			}
		}
	}
	if found := keysOf(touched(Tuning{Turbo: "off", THP: "never"})); !slices.Equal(found, []string{"turbo", "frequency", "thp"}) {
		t.Errorf("touched %v", found)
	}
}

func inventory(h Host) string {
	var all []string
	for _, offer := range Offers(h) {
		all = append(all, offer.Knob+" ("+offer.Offers+")")
	}
	return strings.Join(all, "; ")
}

func TestWhatEachMachineHas(t *testing.T) {
	for _, machine := range []struct {
		name  string
		files map[string]string
		has   string
	}{
		{"intel", intel(), "smt (on, off); turbo (on, off); governor (performance, powersave); frequency (800MHz to 3GHz);" +
			" cstates (POLL (0us), C1 (2us), C1E (10us), C6 (133us)); uncore (1.2GHz to 2.4GHz);" +
			" thp (always, madvise, never); numa_balancing (on, off); swap (on, off); irqs (cores 0-3)"},
		{"amd", amd(), "smt (off); turbo (on, off); governor (conservative, ondemand, userspace, powersave, performance, schedutil);" +
			" frequency (1.5GHz to 2.8GHz); cstates (POLL (0us), C1 (1us), C2 (400us)); thp (always, madvise, never);" +
			" numa_balancing (on, off); swap (on, off); irqs (cores 0-1)"},
		{"vm", vm(), "smt (off); cstates (POLL (0us), haltpoll (1us)); thp (always, madvise, never); numa_balancing (on, off);" +
			" swap (on, off); irqs (cores 0-1)"},
		{"nothing", nil, ""},
	} {
		host, _ := simulate(lay(t, machine.files))
		if found := inventory(host); found != machine.has {
			t.Errorf("%s has %s", machine.name, found)
		}
	}
}

func TestWhatAMachineLacksIsNamedWithWhatItHas(t *testing.T) {
	machines := map[string]func() map[string]string{"intel": intel, "amd": amd, "vm": vm}
	for _, check := range []struct {
		machine         string
		tuning          Tuning
		knob, kind      string
		message, remedy string
	}{
		{"intel", Tuning{Governor: "ondemand"}, "governor", Refused, "policy0/scaling_governor: has no governor 'ondemand'",
			"choose one of: performance, powersave"},
		{"intel", Tuning{Frequency: &Bounds{3_100_000_000, 3_100_000_000}}, "frequency", Refused,
			"policy0/scaling_min_freq: 3.1GHz is out of range", "choose between 800MHz and 3GHz"},
		{"intel", Tuning{Frequency: &Bounds{Min: 700_000_000}}, "frequency", Refused,
			"policy0/scaling_min_freq: 700MHz is out of range", "choose between 800MHz and 3GHz"},
		{"amd", Tuning{Frequency: &Bounds{1_800_000_000, 1_800_000_000}}, "frequency", Refused,
			"scaling_min_freq: 1.8GHz is between two steps of this processor", "choose one of: 2.8GHz, 2GHz, 1.5GHz"},
		{"intel", Tuning{CStates: &IdleStates{Names: []string{"POLL", "C0"}}}, "cstates", Refused, "no idle state is called 'C0'",
			"choose of: POLL (0us), C1 (2us), C1E (10us), C6 (133us); C0 is no idle state, it is to run"},
		{"intel", Tuning{Uncore: &Bounds{3_000_000_000, 3_000_000_000}}, "uncore", Refused,
			"package_00_die_00/min_freq_khz: 3GHz is out of range", "choose between 1.2GHz and 2.4GHz"},
		{"amd", Tuning{SMT: "on"}, "smt", Refused,
			"smt/control: hardware threads cannot be turned on here, it says notsupported", "now they are off"},
		{"amd", Tuning{Swap: "on"}, "swap", Refused, "proc/swaps: no swap is on", "leave tuning.swap out"},
		{"amd", Tuning{Uncore: &Bounds{2_000_000_000, 2_000_000_000}}, "uncore", Missing,
			"this machine has no driver intel_uncore_frequency",
			"leave it out; knobs that it has: smt, turbo, governor, frequency, cstates, thp, numa_balancing, swap, irqs"},
		{"vm", Tuning{Governor: "performance"}, "governor", Missing, "this machine has no governors of frequency",
			"leave it out; knobs that it has: smt, cstates, thp, numa_balancing, swap, irqs"},
		{"vm", Tuning{Turbo: "off"}, "turbo", Missing, "this machine has no switch of turbo", "leave it out"},
		{"vm", Tuning{IRQs: []int{1, 2, 3}}, "irqs", Refused, "core 2-3 is not there, or off", "choose of: 0-1"},
	} {
		host, _ := simulate(lay(t, machines[check.machine]()))
		problems := Check(host, check.tuning)
		if len(problems) != 1 {
			t.Errorf("%s: %d problems of %s", check.machine, len(problems), check.knob)
			continue
		}
		found := problems[0]
		if found.Knob != check.knob || found.Kind != check.kind || !strings.Contains(found.Message, check.message) ||
			!strings.Contains(found.Remedy, check.remedy) {
			t.Errorf("%s: found %+v, wanted %+v", check.machine, found, check)
		}
	}
}

func TestCheckingChangesNothing(t *testing.T) {
	tree := lay(t, intel())
	before := contents(t, tree)
	host, _ := simulate(tree)
	if problems := Check(host, whole()); len(problems) > 0 {
		t.Errorf("%+v", problems)
	}
	same(t, "checked", contents(t, tree), before)
}

func TestFilesThatCannotBeWrittenAreFoundBefore(t *testing.T) {
	host, kernel := simulate(lay(t, intel()))
	kernel.closed = []string{"enabled"}
	found := Check(host, Tuning{THP: "never", Swap: "off"})
	if len(found) != 1 || !strings.Contains(found[0].Message,
		"transparent_hugepage/enabled cannot be written, not even by root: it is mounted read-only") {
		t.Errorf("%+v", found)
	}
	kernel.user = true
	found = Check(host, Tuning{THP: "never", Swap: "off"})
	if len(found) != 2 || !strings.Contains(found[0].Message, "only root may write") ||
		found[0].Remedy != "use sudo, or leave it out" || !strings.Contains(found[1].Message, "proc/swaps/dev/sda2") {
		t.Errorf("%+v", found)
	}
}

func TestWhetherAFileCanBeWrittenIsCheckedWithTheKernel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "value")
	put(t, file, "1")
	if !(linux{}).writable(file) || (linux{}).writable(file+"2") || (linux{}).root() != (os.Geteuid() == 0) {
		t.Error("the kernel was not read")
	}
}

func TestWhatDisturbs(t *testing.T) {
	host, _ := simulate(lay(t, intel()))
	found := Examine(host)
	if !slices.Equal(found.Governors, []string{"powersave"}) || !found.Turbo || !found.HardwareThreads ||
		found.HugePages != "always" || !slices.Equal(found.Swap, []string{"/dev/sda2", "/var/swap file"}) ||
		!found.Irqbalance || found.Stolen != nil || len(found.Missing) > 0 {
		t.Errorf("a server: %+v", found)
	}
	host, _ = simulate(lay(t, vm()))
	found = Examine(host)
	if len(found.Governors) > 0 || found.Turbo || found.HardwareThreads || found.HugePages != "madvise" || len(found.Swap) > 0 ||
		found.Irqbalance || found.Stolen == nil || *found.Stolen != 0.1 || !slices.Equal(found.Missing, []string{"power", "frequencies"}) {
		t.Errorf("a virtual machine: %+v", found)
	}
	host, kernel := simulate(lay(t, amd()))
	found = Examine(host)
	if !slices.Equal(found.Governors, []string{"ondemand"}) || !found.Turbo || !slices.Equal(found.Missing, []string{"power"}) {
		t.Errorf("another server: %+v", found)
	}
	kernel.put(host.cpu("cpufreq/boost"), "0")
	for _, file := range numbered(host.cpu("cpufreq/policy*/scaling_governor")) {
		kernel.put(file, "performance")
	}
	if found = Examine(host); !slices.Equal(found.Governors, []string{"performance"}) || found.Turbo {
		t.Errorf("another server, tuned: %+v", found)
	}
}

func TestListsOfCores(t *testing.T) {
	for text, cores := range map[string][]int{"": nil, "0-2,5": {0, 1, 2, 5}, "7": {7}, "0-1,3-4": {0, 1, 3, 4}} {
		if found := parseCores(text); !slices.Equal(found, cores) {
			t.Errorf("%q: %v", text, found)
		}
		if found := formatCores(cores); found != text {
			t.Errorf("%v: %q", cores, found)
		}
	}
	if found := formatCores([]int{3, 1, 2, 1}); found != "1-3" {
		t.Error(found)
	}
}
