package load

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/result"
)

// dials counts one thread's attempts to connect.
type dials struct {
	attempts, failures int64
	here               int64  // failures for want of something on this machine: files, ports, memory
	shortage           string // the first of those
	made               int    // how many of the connections requested before the start were made
}

func (d *dials) attempt(err error) {
	d.attempts++
	if err != nil {
		d.failed(err)
	}
}

func (d *dials) failed(err error) {
	d.failures++
	for _, want := range []error{unix.EMFILE, unix.ENFILE, unix.EADDRNOTAVAIL, unix.ENOBUFS, unix.ENOMEM} {
		if errors.Is(err, want) {
			if d.here++; d.shortage == "" {
				d.shortage = want.Error()
			}
		}
	}
}

// connections adds up what the threads counted.
func (r *run) connections() result.Connections {
	c := result.Connections{Addresses: r.reached.names(), Unreachable: r.reached.refused, Sources: r.plan.SourceAddresses}
	for _, t := range r.threads {
		d := t.pool.tally
		c.Requested += t.pool.initial / r.plan.slots()
		c.Made += d.made
		c.Connects += d.attempts
		c.Failed += d.failures
		c.Local += d.here
		if c.Why == "" {
			c.Why = d.shortage
		}
	}
	if r.dialer != nil {
		c.Connects, c.Failed = r.dialer.Connects()
	}
	return c
}

// reserved are open files that connections are not to take: the results need some.
type reserved []*os.File

const spareFiles = 32

func reserve() (reserved, error) {
	var files reserved
	for range spareFiles {
		file, err := os.Open(os.DevNull)
		if err != nil {
			files.release()
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

func (r *reserved) release() {
	for _, file := range *r {
		_ = file.Close()
	}
	*r = nil
}
