package tuning

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// simulated is a recorded tree that answers writes as Linux does, or worse: what some kernel forgets, this one forgets.
type simulated struct {
	tree     string
	host     Host
	steps    *steps
	stubborn []string // names of files that keep what they have, without a word
	closed   []string // names of files that cannot be written
	user     bool     // is not root
}

// simulate is a host whose kernel is a tree's.
func simulate(tree string, stubborn ...string) (Host, *simulated) {
	kernel := &simulated{tree: tree, steps: &steps{}, stubborn: stubborn}
	host := Host{Sys: filepath.Join(tree, "sys"), Proc: filepath.Join(tree, "proc"), kernel: kernel}
	kernel.host = host
	return host, kernel
}

// steps counts moments; at the last one the process is killed as by kill -9.
type steps struct{ taken, last int }

func (s *steps) take() {
	s.taken++
	if s.taken == s.last {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Minute)
	}
}

// siblings are second hardware threads, where there are any; managed the interrupts that the kernel does not let go.
var (
	siblings = []string{"2", "3"}
	managed  = []string{"0", "9"}
)

func (k *simulated) root() bool { return !k.user }

func (k *simulated) writable(file string) bool {
	return !slices.Contains(k.closed, filepath.Base(file))
}

func (k *simulated) write(file, text string) error {
	k.steps.take()
	if _, there := k.host.read(file); !there {
		return unix.ENOENT
	}
	if slices.Contains(k.stubborn, filepath.Base(file)) {
		return nil
	}
	return k.answer(file, text)
}

func (k *simulated) answer(file, text string) error {
	beside := func(name string) string { return filepath.Join(filepath.Dir(file), name) }
	switch name := filepath.Base(file); name {
	case "control":
		k.threads(text == "on")
	case "no_turbo", "boost":
		k.turbo(file, text)
	case "scaling_governor":
		if !slices.Contains(k.host.choices(beside("scaling_available_governors")), text) {
			return unix.EINVAL
		}
		k.put(file, text)
		if preference := beside("energy_performance_preference"); k.there(preference) {
			k.put(preference, map[bool]string{true: "performance", false: "balance_performance"}[text == "performance"])
		}
	case "energy_performance_preference":
		if k.text(beside("scaling_governor")) == "performance" {
			return unix.EBUSY
		}
		k.put(file, text)
	case "scaling_min_freq", "scaling_max_freq", "min_freq_khz", "max_freq_khz":
		return k.bound(file, text)
	case "enabled":
		k.put(file, strings.Replace("always madvise never", text, "["+text+"]", 1))
	case "smp_affinity_list":
		return k.interrupt(file, text)
	case "disable", "numa_balancing":
		k.put(file, text)
	default:
		panic("no knob should write " + name)
	}
	return nil
}

func (k *simulated) bound(file, text string) error {
	end := func(name string) string {
		return filepath.Join(filepath.Dir(file), strings.NewReplacer("min", name, "max", name).Replace(filepath.Base(file)))
	}
	wanted, _ := strconv.Atoi(text)
	lowest, highest := k.number(end("min")), k.number(end("max"))
	if file == end("min") {
		lowest = wanted
	} else {
		highest = wanted
	}
	if lowest > highest {
		return unix.EINVAL
	}
	if limit := k.number(filepath.Join(filepath.Dir(file), "cpuinfo_max_freq")); limit > 0 {
		wanted = min(wanted, limit)
	} else {
		wanted -= wanted % 100_000
	}
	k.put(file, strconv.Itoa(wanted))
	return nil
}

// turbo sets the highest frequency to the highest there is, whatever it was.
func (k *simulated) turbo(file, text string) {
	k.put(file, text)
	on := (text == "1") != (filepath.Base(file) == "no_turbo")
	for _, policy := range numbered(k.host.cpu("cpufreq/policy*")) {
		base := k.text(policy + "/base_frequency")
		highest := "2000000"
		switch {
		case base != "" && on:
			highest = "3000000"
		case on:
			highest = "2800000"
		case base != "":
			highest = base
		}
		k.put(policy+"/cpuinfo_max_freq", highest)
		k.put(policy+"/scaling_max_freq", highest)
		if limit, _ := strconv.Atoi(highest); k.number(policy+"/scaling_min_freq") > limit {
			k.put(policy+"/scaling_min_freq", highest)
		}
	}
}

func (k *simulated) interrupt(file, text string) error {
	if slices.Contains(managed, filepath.Base(filepath.Dir(file))) {
		return unix.EIO
	}
	if !k.anyOnline(text) {
		return unix.EINVAL
	}
	k.put(file, formatCores(parseCores(text)))
	return nil
}

func (k *simulated) anyOnline(cores string) bool {
	online := parseCores(k.text(k.host.cpu("online")))
	return slices.ContainsFunc(parseCores(cores), func(core int) bool { return slices.Contains(online, core) })
}

// threads: what belongs to those that are off vanishes, and comes back as a start makes it.
func (k *simulated) threads(on bool) {
	k.put(k.host.cpu("smt/control"), map[bool]string{true: "on", false: "off"}[on])
	k.put(k.host.cpu("smt/active"), map[bool]string{true: "1", false: "0"}[on])
	k.put(k.host.cpu("online"), map[bool]string{true: "0-3", false: "0-1"}[on])
	for _, second := range siblings {
		for _, name := range []string{"cpu" + second + "/cpuidle", "cpufreq/policy" + second} {
			from, to := k.host.cpu(name), filepath.Join(k.tree, "hidden", name)
			if on {
				from, to = to, from
			}
			if k.there(from) {
				must(os.MkdirAll(filepath.Dir(to), 0o755))
				must(os.Rename(from, to))
			}
		}
		if on {
			k.fresh(second)
		}
	}
	for _, file := range numbered(k.host.Proc, "irq/*/smp_affinity_list") { // those without a core left go to all
		if !on && !k.anyOnline(k.text(file)) {
			k.put(file, "0-1")
		}
	}
}

func (k *simulated) fresh(core string) {
	for _, file := range numbered(k.host.cpu("cpu"+core, "cpuidle/state*/disable")) {
		k.put(file, "0")
	}
	policy := k.host.cpu("cpufreq/policy" + core)
	k.put(policy+"/scaling_governor", "powersave")
	k.put(policy+"/energy_performance_preference", "balance_performance")
	k.put(policy+"/scaling_min_freq", k.text(policy+"/cpuinfo_min_freq"))
	k.put(policy+"/scaling_max_freq", k.text(policy+"/cpuinfo_max_freq"))
}

func (k *simulated) swap(device string, on bool, priority int) error {
	k.steps.take()
	table := filepath.Join(k.tree, swapsFile)
	lines := strings.Split(k.text(table), "\n")
	off := filepath.Join(k.tree, "off", device)
	if on {
		line, err := os.ReadFile(off)
		must(err)
		must(os.Remove(off))
		fields := strings.Fields(string(line))
		if was, _ := strconv.Atoi(fields[4]); was != priority && (was >= 0 || priority >= 0) {
			panic(fmt.Sprintf("%s had priority %d, not %d", device, was, priority))
		}
		lines = append(lines, string(line))
	} else {
		at := slices.IndexFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, strings.ReplaceAll(device, " ", `\040`))
		})
		must(os.MkdirAll(filepath.Dir(off), 0o755))
		must(os.WriteFile(off, []byte(lines[at]), 0o644))
		lines = slices.Delete(lines, at, at+1)
	}
	slices.Sort(lines[1:]) // so that trees can be compared
	k.put(table, strings.Join(lines, "\n"))
	return nil
}

func (k *simulated) text(file string) string {
	text, _ := k.host.read(file)
	return text
}

func (k *simulated) number(file string) int {
	number, _ := k.host.number(file)
	return number
}

func (k *simulated) there(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func (k *simulated) put(file, text string) { must(os.WriteFile(file, []byte(text+"\n"), 0o644)) }

func must(err error) {
	if err != nil {
		panic(err)
	}
}
