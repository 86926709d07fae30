package tuning

import (
	"path/filepath"
	"slices"
)

// interrupts are the cores of each interrupt. Some are the kernel's to place (timers, the queues of an NVMe disk): those
// stay where they are.
type interrupts struct{ plain }

func (interrupts) about() traits {
	return traits{key: "irqs", needs: "interrupts that can be moved (/proc/irq/*/smp_affinity_list)", yields: true}
}

func (interrupts) wants(tuning Tuning) bool { return len(tuning.IRQs) > 0 }

func (interrupts) files(h Host) ([]string, bool) {
	return has(h.answering(numbered(filepath.Join(h.Proc, "irq/[0-9]*/smp_affinity_list"))...))
}

func (interrupts) offers(h Host) string {
	online, _ := h.read(h.cpu("online"))
	return "cores " + online
}

func (i interrupts) values(h Host, tuning Tuning) ([]value, error) {
	online, _ := h.read(h.cpu("online"))
	known := parseCores(online)
	missing := slices.DeleteFunc(slices.Clone(tuning.IRQs), func(core int) bool { return slices.Contains(known, core) })
	if len(missing) > 0 {
		return nil, refused("choose of: "+online, "%s: core %s is not there, or off", h.cpu(), formatCores(missing))
	}
	files, _ := i.files(h)
	return each(files, formatCores(tuning.IRQs)), nil
}
