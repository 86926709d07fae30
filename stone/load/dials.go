package load

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// dials counts one thread's attempts to connect.
type dials struct {
	attempts, failures int64
	here               int64  // failures for want of something on this machine: files, ports, memory
	why                string // the first of those
	made               int    // of the connections that were asked for before the start
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
			if d.here++; d.why == "" {
				d.why = want.Error()
			}
		}
	}
}

// Connections is how connecting went, the warm-up and what came before it included.
type Connections struct {
	Asked       int      `json:"asked"`       // to be made before the start
	Made        int      `json:"made"`        // of those
	Connects    int64    `json:"connects"`    // attempts until the end
	Failed      int64    `json:"failed"`      // of those
	Local       int64    `json:"local"`       // of those, for want of files, ports or memory on the generator's machine
	Why         string   `json:"why"`         // the first of those
	Addresses   []string `json:"addresses"`   // that the target's and the replicas' names stand for
	Unreachable []string `json:"unreachable"` // others that they stand for, which accepted no connection before the start
	Sources     []string `json:"sources"`     // that were sent from, if the plan says so
}

// connections adds up what the threads counted.
func (r *run) connections() Connections {
	c := Connections{Addresses: r.reached.names(), Unreachable: r.reached.refused, Sources: r.plan.SourceAddresses}
	for _, w := range r.workers {
		d := w.pool.tally
		c.Asked += w.pool.initial / r.plan.slots()
		c.Made += d.made
		c.Connects += d.attempts
		c.Failed += d.failures
		c.Local += d.here
		if c.Why == "" {
			c.Why = d.why
		}
	}
	if r.dialer != nil {
		c.Connects, c.Failed = r.dialer.Connects()
	}
	return c
}

// Shortfall says in words that fewer connections could be made than were asked for, or that sockets failed for want of
// something here; "" if neither is so.
func (c *Connections) Shortfall() string {
	switch {
	case c.Local > 0:
		return fmt.Sprintf("%d of %d connections could be made before the start, and %d sockets failed here: %s; raise the limit (ulimit -n), "+
			"give source_addresses, or use more workers", c.Made, c.Asked, c.Local, c.Why)
	case c.Made < c.Asked:
		return fmt.Sprintf("%d of %d connections could be made before the start", c.Made, c.Asked)
	}
	return ""
}

// add merges what another worker found.
func (c *Connections) add(o Connections) {
	c.Asked += o.Asked
	c.Made += o.Made
	c.Connects += o.Connects
	c.Failed += o.Failed
	c.Local += o.Local
	if c.Why == "" {
		c.Why = o.Why
	}
	c.Addresses = union(c.Addresses, o.Addresses)
	c.Unreachable = union(c.Unreachable, o.Unreachable)
	c.Sources = union(c.Sources, o.Sources)
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
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
