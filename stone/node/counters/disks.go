package counters

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// bytesPerSector in /proc/diskstats, whatever a disk's own sectors are (Documentation/block/stat.rst of Linux).
const bytesPerSector = 512

// Columns of /proc/diskstats after a device's two numbers and its name (Documentation/admin-guide/iostats.rst).
const (
	readsCompleted = iota
	_
	sectorsRead
	_
	writesCompleted
	_
	sectorsWritten
	_
	_
	millisecondsBusy
	diskColumns
)

// disks reads /proc/diskstats: of whole disks, and only of those that were ever used.
type disks struct {
	file     *kernelFile
	sys      string
	subjects map[string]string // by name; empty for a part of a disk
}

func openDisks(h *Host) (collector, error) {
	file, err := openFile(filepath.Join(h.roots.Proc, "diskstats"))
	if err != nil {
		return nil, err
	}
	return &disks{file, h.roots.Sys, map[string]string{}}, nil
}

func (d *disks) read(r *reading) error {
	text, err := r.file(d.file)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		name, counts, err := parseDisk(line)
		if err != nil {
			return err
		}
		subject, known := d.subjects[string(name)]
		if !known {
			subject = d.subject(string(name))
			d.subjects[string(name)] = subject
		}
		if subject == "" || counts[readsCompleted]+counts[writesCompleted] == 0 {
			continue
		}
		r.put(subject, "disk_read_bytes_total", float64(counts[sectorsRead])*bytesPerSector)
		r.put(subject, "disk_written_bytes_total", float64(counts[sectorsWritten])*bytesPerSector)
		r.put(subject, "disk_reads_completed_total", float64(counts[readsCompleted]))
		r.put(subject, "disk_writes_completed_total", float64(counts[writesCompleted]))
		r.put(subject, "disk_busy_seconds_total", float64(counts[millisecondsBusy])/1e3)
	}
	return nil
}

// subject is empty for what is no whole disk.
func (d *disks) subject(name string) string {
	if _, err := os.Stat(filepath.Join(d.sys, "block", name)); err != nil {
		return ""
	}
	return "disk:" + name
}

// parseDisk reads one line. Newer kernels have more columns.
func parseDisk(line []byte) (name []byte, counts [diskColumns]uint64, err error) {
	column := -3
	for field := range bytes.FieldsSeq(line) {
		switch {
		case column == -1:
			name = field
		case column >= 0 && column < diskColumns:
			if counts[column], err = strconv.ParseUint(string(field), 10, 64); err != nil {
				return nil, counts, fmt.Errorf("/proc/diskstats holds %q, whose column %d is no counter", line, column+4)
			}
		}
		column++
	}
	if column < diskColumns {
		return nil, counts, fmt.Errorf("/proc/diskstats holds %q, which has too few columns", line)
	}
	return name, counts, nil
}

func (d *disks) close() { closeAll(d.file) }
