package result

import (
	"fmt"
	"slices"
)

// Connections is how connecting went, the warm-up and what came before it included.
type Connections struct {
	Requested   int      `json:"requested"`   // to be made before the start
	Made        int      `json:"made"`        // how many of those were made
	Connects    int64    `json:"connects"`    // attempts until the end
	Failed      int64    `json:"failed"`      // failed attempts
	Local       int64    `json:"local"`       // failed attempts for want of files, ports or memory on the generator's machine
	Why         string   `json:"why"`         // the first of those
	Addresses   []string `json:"addresses"`   // that the target's and the replicas' names stand for
	Unreachable []string `json:"unreachable"` // others that they stand for, which accepted no connection before the start
	Sources     []string `json:"sources"`     // that were sent from, if the plan says so
}

// Shortfall describes that fewer connections could be made than requested, or that sockets failed for want of
// something here; "" if neither is so.
func (c *Connections) Shortfall() string {
	switch {
	case c.Local > 0:
		return fmt.Sprintf("%d of %d connections could be made before the start, and %d sockets failed here: %s; raise the limit (ulimit -n), "+
			"give source_addresses, or use more workers", c.Made, c.Requested, c.Local, c.Why)
	case c.Made < c.Requested:
		return fmt.Sprintf("%d of %d connections could be made before the start", c.Made, c.Requested)
	}
	return ""
}

// add merges what another worker found.
func (c *Connections) add(o Connections) {
	c.Requested += o.Requested
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
