package counters

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// perf reads the energy counters of processors as perf has them, where powercap does not: 64 bits, never anew.
type perf struct {
	counters []energyCounter
	count    [8]byte
}

type energyCounter struct {
	subject string
	file    io.ReadCloser
	scale   float64 // joules of one count
}

// opener opens an event of a PMU on a processor; each read gives its count in 8 bytes.
type opener func(pmu uint32, event uint64, cpu int) (io.ReadCloser, error)

// energyEvents are what perf calls the parts of a package, and what powercap calls them.
var energyEvents = [...]struct{ event, part string }{{"energy-pkg", ""}, {"energy-cores", "/core"}, {"energy-ram", "/dram"}}

func openPerf(sys string, open opener) (*perf, error) {
	device := filepath.Join(sys, "bus/event_source/devices/power")
	pmu, err := readNumber(device, "type")
	if err != nil {
		return nil, fmt.Errorf("no power events of perf: %w", err)
	}
	mask, err := read(device, "cpumask")
	if err != nil {
		return nil, err
	}
	cpus, err := parseCPUs(mask)
	if err != nil {
		return nil, err
	}
	packages, err := packagesOf(sys, cpus)
	if err != nil {
		return nil, err
	}
	p := &perf{}
	for _, energy := range energyEvents {
		text, err := read(filepath.Join(device, "events"), energy.event)
		if err != nil {
			continue // this processor does not count it
		}
		event, scale, err := parseEvent(device, energy.event, text)
		for i := 0; i < len(cpus) && err == nil; i++ {
			var file io.ReadCloser
			if file, err = open(uint32(pmu), event, cpus[i]); err == nil {
				p.counters = append(p.counters, energyCounter{"power:" + packages[i] + energy.part, file, scale})
			}
		}
		if err != nil {
			p.close()
			return nil, fmt.Errorf("perf does not open its power event %s: %w", energy.event, err)
		}
	}
	if len(p.counters) == 0 {
		return nil, fmt.Errorf("perf has no energy-pkg, -cores or -ram in %s/events", device)
	}
	return p, nil
}

// parseEvent reads `event=0x02`, and the joules of one count from the file beside it.
func parseEvent(device, name, text string) (event uint64, scale float64, err error) {
	code, found := strings.CutPrefix(text, "event=")
	if !found {
		return 0, 0, fmt.Errorf("%s/events/%s holds %q instead of event=NUMBER", device, name, text)
	}
	if event, err = strconv.ParseUint(code, 0, 64); err != nil {
		return 0, 0, fmt.Errorf("%s/events/%s: %w", device, name, err)
	}
	factor, err := read(filepath.Join(device, "events"), name+".scale")
	if err == nil {
		scale, err = strconv.ParseFloat(factor, 64)
	}
	return event, scale, err
}

// packagesOf names the package of each processor as powercap does: package-0, and package-0-die-1 for its second die.
func packagesOf(sys string, cpus []int) ([]string, error) {
	var names []string
	taken := map[string]bool{}
	for _, cpu := range cpus {
		topology := filepath.Join(sys, "devices/system/cpu", "cpu"+strconv.Itoa(cpu), "topology")
		number, err := readNumber(topology, "physical_package_id")
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("package-%d", number)
		if taken[name] {
			die, err := readNumber(topology, "die_id")
			if err != nil {
				return nil, err
			}
			name = fmt.Sprintf("%s-die-%d", name, die)
		}
		taken[name] = true
		names = append(names, name)
	}
	return names, nil
}

// mostCPUs is more than Linux supports.
const mostCPUs = 1 << 14

// parseCPUs reads a list of processors such as 0,18 or 0-3,8.
func parseCPUs(list string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, is := strings.Cut(part, "-")
		if !is {
			last = first
		}
		from, wrong := strconv.ParseUint(first, 10, 32)
		to, wrongToo := strconv.ParseUint(last, 10, 32)
		if wrong != nil || wrongToo != nil || from > to || to >= mostCPUs || len(cpus) >= mostCPUs {
			return nil, fmt.Errorf("%q is no list of processors such as 0,18", list)
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, int(cpu))
		}
	}
	return cpus, nil
}

// openEvent counts an event on a processor, whatever runs there. It needs CAP_PERFMON or root.
func openEvent(pmu uint32, event uint64, cpu int) (io.ReadCloser, error) {
	attr := unix.PerfEventAttr{Type: pmu, Config: event, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
	file, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("perf_event_open", err)
	}
	return os.NewFile(uintptr(file), "perf event"), nil
}

func (p *perf) read(r *reading) error {
	for _, counter := range p.counters {
		if _, err := io.ReadFull(counter.file, p.count[:]); err != nil {
			return err
		}
		r.put(counter.subject, "energy_joules_total", float64(binary.NativeEndian.Uint64(p.count[:]))*counter.scale)
	}
	return nil
}

func (p *perf) close() {
	for _, counter := range p.counters {
		_ = counter.file.Close()
	}
}
