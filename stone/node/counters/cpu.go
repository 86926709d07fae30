package counters

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
)

// ticksPerSecond is the unit of times that Linux tells programs: USER_HZ, which is the same on all its architectures.
const ticksPerSecond = 100

// processorTimes are the columns of a processor in /proc/stat; those that follow are contained in these.
var processorTimes = [...]string{
	"cpu_user_seconds_total", "cpu_nice_seconds_total", "cpu_system_seconds_total", "cpu_idle_seconds_total",
	"cpu_iowait_seconds_total", "cpu_irq_seconds_total", "cpu_softirq_seconds_total", "cpu_steal_seconds_total",
}

// nodeCounts are what other lines of /proc/stat begin with.
var nodeCounts = map[string]string{
	"ctxt":          "context_switches_total",
	"intr":          "interrupts_total",
	"processes":     "forks_total",
	"procs_running": "processes_running",
	"procs_blocked": "processes_blocked",
}

// processors reads /proc/stat: the time of all processors together and of each, and what else the kernel counts there.
type processors struct {
	file     *kernelFile
	subjects map[string]string
}

func openProcessors(h *Host) (collector, error) {
	file, err := openFile(filepath.Join(h.roots.Proc, "stat"))
	if err != nil {
		return nil, err
	}
	return &processors{file, map[string]string{"cpu": "node"}}, nil
}

func (p *processors) read(r *reading) error {
	text, err := r.file(p.file)
	if err != nil {
		return err
	}
	return p.tell(text, r)
}

func (p *processors) tell(text []byte, r *reading) error {
	if !bytes.HasPrefix(text, []byte("cpu ")) {
		return errors.New("/proc/stat does not begin with the time of all processors")
	}
	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(line, []byte(" "))
		if number, is := bytes.CutPrefix(name, []byte("cpu")); is {
			subject, known := p.subjects[string(name)]
			if !known {
				subject = "cpu:" + string(number)
				p.subjects[string(name)] = subject
			}
			if err := putTimes(r, subject, rest); err != nil {
				return err
			}
		} else if metric := nodeCounts[string(name)]; metric != "" {
			first, _, _ := bytes.Cut(rest, []byte(" "))
			count, err := parseNumber(first)
			if err != nil {
				return fmt.Errorf("/proc/stat holds %.80q, which counts nothing", line)
			}
			r.put("node", metric, float64(count))
		}
	}
	return nil
}

func putTimes(r *reading, subject string, columns []byte) error {
	column := 0
	for field := range bytes.FieldsSeq(columns) {
		if column == len(processorTimes) {
			return nil
		}
		ticks, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return fmt.Errorf("/proc/stat holds %q for %s, which is no time", field, subject)
		}
		r.put(subject, processorTimes[column], float64(ticks)/ticksPerSecond)
		column++
	}
	return nil
}

func (p *processors) close() { closeAll(p.file) }
