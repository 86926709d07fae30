package counters

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// powercap reads the energy counters that processors keep of themselves (RAPL), of Intel and of AMD:
// Documentation/power/powercap/powercap.rst of Linux.
type powercap struct{ zones []zone }

// zone is a domain whose energy is counted: a package, or a part of one.
type zone struct {
	subject string
	file    *kernelFile
	most    uint64 // microjoules, at which the counter begins anew
	begun   bool
	last    uint64 // microjoules, as the kernel counts
	total   uint64 // microjoules, without beginning anew
}

// openPower reads powercap, or else perf, which counts the same.
func openPower(h *Host) (collector, error) {
	zones, err := openPowercap(h.roots.Sys)
	if err == nil {
		return zones, nil
	}
	events, instead := openPerf(h.roots.Sys, openEvent)
	if instead == nil {
		return events, nil
	}
	return nil, fmt.Errorf("%w, and %w", err, instead)
}

// openPowercap finds the zones. They are folders like intel-rapl:0 and, for its parts, intel-rapl:0:1, also on AMD.
// intel-rapl-mmio:0 counts the same package once more and is left out.
func openPowercap(sys string) (*powercap, error) {
	class := filepath.Join(sys, "class/powercap")
	found, _ := filepath.Glob(filepath.Join(class, "intel-rapl:*")) // fails only if the pattern is bad
	if len(found) == 0 {
		return nil, errors.New("no zones in " + class)
	}
	slices.Sort(found) // a package comes before its parts
	p := &powercap{}
	names := map[string]string{}
	for _, folder := range found {
		name, err := read(folder, "name")
		if err != nil {
			p.close()
			return nil, err
		}
		base := filepath.Base(folder)
		if above, is := names[base[:strings.LastIndexByte(base, ':')]]; is {
			name = above + "/" + name
		}
		names[base] = name
		most, err := readNumber(folder, "max_energy_range_uj")
		if err != nil {
			p.close()
			return nil, err
		}
		file, err := openFile(filepath.Join(folder, "energy_uj"))
		if err != nil {
			p.close()
			return nil, fmt.Errorf("%w (only root may read it)", err)
		}
		p.zones = append(p.zones, zone{subject: "power:" + name, file: file, most: uint64(most)})
	}
	return p, nil
}

func (p *powercap) read(r *reading) error {
	for i := range p.zones {
		zone := &p.zones[i]
		now, err := r.number(zone.file)
		if err != nil {
			return err
		}
		r.put(zone.subject, "energy_joules_total", float64(zone.count(now))/1e6)
	}
	return nil
}

// count makes a total that only grows of a counter that begins anew at its most. More than one such beginning between
// two readings cannot be seen.
func (z *zone) count(now uint64) uint64 {
	switch {
	case !z.begun:
		z.total, z.begun = now, true
	case now >= z.last:
		z.total += now - z.last
	default:
		z.total += z.most - z.last + now
	}
	z.last = now
	return z.total
}

func (p *powercap) close() {
	for _, zone := range p.zones {
		closeAll(zone.file)
	}
}
