package node

import (
	"context"

	"loadstone.dev/stone/node/counters"
)

const mostReplicas = 1000

type readArgs struct {
	What     []string                    `json:"what"`
	Replicas map[string]counters.Subject `json:"replicas"`
}

// Read is what the kernel says of each replica.
type Read struct {
	Replicas map[string]counters.Standing `json:"replicas"`
}

// openReader opens the kernel's files, which needs control groups.
func (n *Node) openReader() (*counters.Host, error) {
	host, err := counters.Open(counters.Roots{Proc: n.Proc, Sys: n.Sys, Cgroup: n.Cgroup})
	if err != nil {
		return nil, faultf(Missing, "this machine's counters cannot be read: %s", err)
	}
	return host, nil
}

// oomKills of a group; nil where they are not counted.
func (n *Node) oomKills(group string) *int64 {
	host, err := n.reader()
	if err != nil {
		return nil
	}
	return host.OOMKills(group)
}

// read tells what is in force for replicas, what they have used, and what befell them.
func (n *Node) read(ctx context.Context, _ *call, args readArgs) (answer, error) {
	parts := counters.Parts{}
	of := map[string]*bool{
		"limits": &parts.Limits, "usage": &parts.Usage, "environment": &parts.Environment, "events": &parts.Events,
		"io": &parts.IO,
	}
	for _, part := range args.What {
		wanted := of[part]
		if wanted == nil {
			return answer{}, faultf(Input, "%.40q: read limits, usage, environment, events or io", part)
		}
		*wanted = true
	}
	if err := checkReplicas(args.Replicas); err != nil {
		return answer{}, err
	}
	host, err := n.reader()
	if err != nil {
		return answer{}, err
	}
	standings, err := host.Standings(ctx, args.Replicas, parts)
	return answer{value: Read{standings}}, err
}

type peaksArgs struct {
	Replicas map[string]counters.Subject `json:"replicas"`
}

// Peaks are by replica: whether its memory's peak begins anew.
type Peaks struct {
	Peaks map[string]bool `json:"peaks"`
}

// peaks begins a new memory peak of replicas, where the kernel can.
func (n *Node) peaks(ctx context.Context, _ *call, args peaksArgs) (answer, error) {
	if err := checkReplicas(args.Replicas); err != nil {
		return answer{}, err
	}
	host, err := n.reader()
	if err != nil {
		return answer{}, err
	}
	begun, err := host.NewPeaksOf(ctx, args.Replicas)
	return answer{value: Peaks{begun}}, err
}

func checkReplicas(replicas map[string]counters.Subject) error {
	if len(replicas) > mostReplicas {
		return faultf(Input, "%d replicas at once: give at most %d", len(replicas), mostReplicas)
	}
	for name, subject := range replicas {
		if err := subject.Problem(); err != nil {
			return faultf(Input, "replica %.80s: %s", name, err)
		}
	}
	return nil
}
