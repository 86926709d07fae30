package agent

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/procfs/blockdevice"
)

// bytesPerSector in /proc/diskstats, whatever a disk's own sectors are (Documentation/block/stat.rst of Linux).
const bytesPerSector = 512

// disks reads /proc/diskstats: of whole disks, and only of those that were ever used.
type disks struct {
	files    blockdevice.FS
	sys      string
	subjects map[string]string // by name; empty for a part of a disk
}

func openDisks(h *Host) (collector, error) {
	files, err := blockdevice.NewFS(h.roots.Proc, h.roots.Sys)
	if err != nil {
		return nil, err
	}
	_, err = files.ProcDiskstats()
	return &disks{files, h.roots.Sys, map[string]string{}}, err
}

func (d *disks) read(r *reading) error {
	all, err := d.files.ProcDiskstats()
	if err != nil {
		return fmt.Errorf("diskstats: %w", err)
	}
	for i := range all {
		disk := &all[i]
		subject := d.subject(disk.DeviceName)
		if subject == "" || disk.ReadIOs+disk.WriteIOs == 0 {
			continue
		}
		r.put(subject, "disk_read_bytes_total", float64(disk.ReadSectors)*bytesPerSector)
		r.put(subject, "disk_written_bytes_total", float64(disk.WriteSectors)*bytesPerSector)
		r.put(subject, "disk_reads_completed_total", float64(disk.ReadIOs))
		r.put(subject, "disk_writes_completed_total", float64(disk.WriteIOs))
		r.put(subject, "disk_busy_seconds_total", float64(disk.IOsTotalTicks)/1e3)
	}
	return nil
}

func (d *disks) subject(name string) string {
	subject, known := d.subjects[name]
	if !known {
		if _, err := os.Stat(filepath.Join(d.sys, "block", name)); err == nil {
			subject = "disk:" + name
		}
		d.subjects[name] = subject
	}
	return subject
}

func (*disks) close() {}
