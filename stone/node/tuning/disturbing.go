package tuning

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Conditions are what of a host disturbs a measurement, whatever is measured.
type Conditions struct {
	Governors       []string `json:"governors"`        // in force, each once
	Turbo           bool     `json:"turbo"`            // is on
	HardwareThreads bool     `json:"hardware_threads"` // two threads share a core now
	HugePages       string   `json:"huge_pages"`       // always, madvise, never; empty where there are none
	Swap            []string `json:"swap"`             // devices in use
	Irqbalance      bool     `json:"irqbalance"`       // runs
	Stolen          *float64 `json:"stolen"`           // the share of a virtual machine's processor time that others took; nil on a real machine
	Missing         []string `json:"missing"`          // counters that the kernel does not show: cstates, power, frequencies
}

// Examine reads them.
func Examine(h Host) Conditions {
	found := Conditions{
		Governors: []string{}, Swap: []string{}, Turbo: turbo{}.isOn(h), HardwareThreads: smt{}.state(h) == "on",
		Irqbalance: runs(h, "irqbalance"), Stolen: stolen(h), Missing: []string{},
	}
	for _, file := range (governor{}).governors(h) {
		text, _ := h.read(file)
		found.Governors = append(found.Governors, text)
	}
	slices.Sort(found.Governors)
	found.Governors = slices.Compact(found.Governors)
	if files, there := (hugePages{}).files(h); there {
		found.HugePages, _ = hugePages{}.read(h, files[0])
	}
	for _, used := range (swap{}).inUse(h) {
		found.Swap = append(found.Swap, used.file)
	}
	if _, there := (cstates{}).files(h); !there {
		found.Missing = append(found.Missing, "cstates")
	}
	if len(numbered(h.Sys, "class/powercap/*rapl*"))+len(numbered(h.Sys, "bus/event_source/devices/power/events/energy-*")) == 0 {
		found.Missing = append(found.Missing, "power")
	}
	if len(numbered(h.cpu("cpufreq/policy*"))) == 0 {
		found.Missing = append(found.Missing, "frequencies")
	}
	return found
}

func runs(h Host, program string) bool {
	return slices.ContainsFunc(numbered(h.Proc, "[0-9]*/comm"), func(file string) bool {
		name, _ := h.read(file)
		return name == program
	})
}

var hypervisor = regexp.MustCompile(`(?m)^flags.*\bhypervisor\b`)

// stolen is the share of time that a virtual machine's processors wanted to run and did not; nil of a real machine.
func stolen(h Host) *float64 {
	if processors, _ := h.read(filepath.Join(h.Proc, "cpuinfo")); !hypervisor.MatchString(processors) {
		return nil
	}
	share := 0.0
	text, _ := h.read(filepath.Join(h.Proc, "stat"))
	// proc(5): cpu user nice system idle iowait irq softirq steal; what comes after is part of the first two.
	if fields := strings.Fields(text); len(fields) > 8 {
		var all, steal float64
		for i, field := range fields[1:9] {
			ticks, _ := strconv.ParseFloat(field, 64)
			all += ticks
			if i == 7 {
				steal = ticks
			}
		}
		share = steal / max(1, all)
	}
	return &share
}
