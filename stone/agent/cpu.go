package agent

import (
	"strconv"

	"github.com/prometheus/procfs"
)

// processors reads /proc/stat: the time of all processors together and of each, and what else the kernel counts there.
type processors struct {
	proc     procfs.FS
	subjects map[int64]string
}

func openProcessors(h *Host) (collector, error) {
	_, err := h.proc.Stat()
	return &processors{h.proc, map[int64]string{}}, err
}

func (p *processors) read(r *reading) error {
	stat, err := p.proc.Stat()
	if err != nil {
		return err
	}
	putTimes(r, "node", stat.CPUTotal)
	for number, times := range stat.CPU {
		subject, known := p.subjects[number]
		if !known {
			subject = "cpu:" + strconv.FormatInt(number, 10)
			p.subjects[number] = subject
		}
		putTimes(r, subject, times)
	}
	r.put("node", "context_switches_total", float64(stat.ContextSwitches))
	r.put("node", "interrupts_total", float64(stat.IRQTotal))
	r.put("node", "forks_total", float64(stat.ProcessCreated))
	r.put("node", "processes_running", float64(stat.ProcessesRunning))
	r.put("node", "processes_blocked", float64(stat.ProcessesBlocked))
	return nil
}

func putTimes(r *reading, subject string, times procfs.CPUStat) {
	r.put(subject, "cpu_user_seconds_total", times.User)
	r.put(subject, "cpu_nice_seconds_total", times.Nice)
	r.put(subject, "cpu_system_seconds_total", times.System)
	r.put(subject, "cpu_idle_seconds_total", times.Idle)
	r.put(subject, "cpu_iowait_seconds_total", times.Iowait)
	r.put(subject, "cpu_irq_seconds_total", times.IRQ)
	r.put(subject, "cpu_softirq_seconds_total", times.SoftIRQ)
	r.put(subject, "cpu_steal_seconds_total", times.Steal)
}

func (*processors) close() {}
