package counters

import (
	"context"
	"fmt"
	"regexp"
	"time"
)

const (
	shortestPeriodMS = 10
	longestPeriodMS  = 60_000 // energy counters of some servers begin anew after a few minutes

	mostReplicas = 1000
	mostNetworks = 100

	// mostNameBytes is checked apart: a counted repetition in replicaName would take 100 kB in every process.
	mostNameBytes = 200
)

// replicaName is what a replica may be called: names of deployments, nothing that a file of text could trip over.
var replicaName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:-]*$`)

// Wanted is what to record, and how often.
type Wanted struct {
	PeriodMS int                `json:"period_ms"`
	Replicas map[string]Subject `json:"replicas"`
	// Networks are those of emulated hosts and switches on this machine, each named by a control group in it.
	Networks map[string]Subject `json:"networks"`
	// Cores are those that the recording's thread may run on; all where empty.
	Cores []int `json:"cores"`
}

// Problem says what is wrong with it.
func (w Wanted) Problem() error {
	if w.PeriodMS < shortestPeriodMS || w.PeriodMS > longestPeriodMS {
		return fmt.Errorf("period_ms is %d: give %d to %d", w.PeriodMS, shortestPeriodMS, longestPeriodMS)
	}
	if len(w.Networks) > mostNetworks {
		return fmt.Errorf("%d networks at once: record at most %d", len(w.Networks), mostNetworks)
	}
	if err := ReplicasProblem(w.Replicas); err != nil {
		return err
	}
	for name, subject := range w.Networks {
		if err := namedProblem("network", name, subject); err != nil {
			return err
		}
		if subject.Container != "" {
			return fmt.Errorf("network %s: give its \"group\"; a container's network is recorded with its replica", name)
		}
	}
	return nil
}

// ReplicasProblem says what is wrong with subjects of replicas.
func ReplicasProblem(replicas map[string]Subject) error {
	if len(replicas) > mostReplicas {
		return fmt.Errorf("%d replicas at once: record at most %d", len(replicas), mostReplicas)
	}
	for name, subject := range replicas {
		if err := namedProblem("replica", name, subject); err != nil {
			return err
		}
	}
	return nil
}

func namedProblem(what, name string, subject Subject) error {
	if len(name) > mostNameBytes || !replicaName.MatchString(name) {
		return fmt.Errorf("%.200q is no name of a %s: give letters, digits and ._/:-", name, what)
	}
	if err := subject.Problem(); err != nil {
		return fmt.Errorf("%s %s: %w", what, name, err)
	}
	return nil
}

func (w Wanted) period() time.Duration { return time.Duration(w.PeriodMS) * time.Millisecond }

// open opens all that is there of what is wanted.
func (h *Host) open(ctx context.Context, wanted Wanted) (set, error) {
	replicas, err := h.openReplicas(ctx, wanted.Replicas)
	if err != nil {
		return set{}, err
	}
	all := h.openNode()
	all.join(replicas)
	all.join(h.openNetworks(wanted.Networks))
	all.add("reference", openSpeed(wanted.Cores))
	return all, nil
}
