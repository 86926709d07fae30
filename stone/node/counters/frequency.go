package counters

import (
	"errors"
	"path/filepath"
)

// frequencies reads what cpufreq says that each processor runs at.
type frequencies struct {
	subjects []string
	files    []*kernelFile
}

func openFrequencies(h *Host) (collector, error) {
	pattern := filepath.Join(h.roots.Sys, "devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
	found, _ := filepath.Glob(pattern) // fails only if the pattern is bad
	if len(found) == 0 {
		return nil, errors.New("no " + pattern + ": the kernel has no driver for this processor's frequencies, as in most virtual machines")
	}
	f := &frequencies{}
	for _, path := range found {
		file, err := openFile(path)
		if err != nil {
			f.close()
			return nil, err
		}
		f.files = append(f.files, file)
		f.subjects = append(f.subjects, cpuSubject(filepath.Dir(filepath.Dir(path))))
	}
	return f, nil
}

// read leaves out processors that are off, which have no frequency.
func (f *frequencies) read(r *reading) error {
	for i, file := range f.files {
		if kilohertz, err := r.number(file); err == nil {
			r.put(f.subjects[i], "frequency_hertz", float64(kilohertz)*1e3)
		}
	}
	return nil
}

func (f *frequencies) close() { closeAll(f.files...) }

// cpuSubject is `cpu:7` of a folder cpu7.
func cpuSubject(folder string) string { return "cpu:" + filepath.Base(folder)[len("cpu"):] }
