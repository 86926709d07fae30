package counters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"

	"loadstone.dev/stone/node/groups"
)

// Roots are where the node's kernel exposes its state: its /proc, its /sys, and where its control groups are mounted (all
// that Proc says is mounted, where empty).
type Roots struct{ Proc, Sys, Cgroup string }

// Host is the node whose kernel is read. Safe for concurrent use.
type Host struct {
	roots  Roots
	proc   procfs.FS
	groups hierarchies
	clock  *clock
}

// Limits are what is in force: the tightest from the container's group up to the root. Nil: no limit.
type Limits struct {
	CPU    *float64 `json:"cpu"`    // cores' worth of time
	Memory *int64   `json:"memory"` // bytes
	// Cores on which its first process may run: its cpuset and its affinity together. Nil without a process.
	Cores []uint64 `json:"cores"`
}

// Usage counts since the container was started. Nil: this kernel does not count it.
type Usage struct {
	CPUSeconds       float64  `json:"cpu_s"`
	Periods          *int64   `json:"periods"`
	ThrottledPeriods *int64   `json:"throttled_periods"`
	ThrottledSeconds *float64 `json:"throttled_s"`
	Memory           int64    `json:"memory"`      // bytes, the page cache included
	MemoryPeak       *int64   `json:"memory_peak"` // bytes, since it was begun anew
	OOMKills         *int64   `json:"oom_kills"`
	Processes        int      `json:"pids"`
}

// Open finds the control groups in the mounts that /proc lists; with roots.Cgroup, only those there and below count.
func Open(roots Roots) (*Host, error) {
	files, err := procfs.NewFS(roots.Proc)
	if err != nil {
		return nil, err
	}
	mounts, err := groups.FindMounts(roots.Proc, roots.Cgroup)
	if err != nil {
		return nil, err
	}
	found, err := findHierarchies(mounts)
	if err != nil {
		where := "any place in " + filepath.Join(roots.Proc, "self", "mountinfo")
		if roots.Cgroup != "" {
			where = filepath.Clean(roots.Cgroup)
		}
		return nil, fmt.Errorf("%w at %s", err, where)
	}
	return &Host{roots, files, found, &clock{address: chronyd, within: chronydWithin}}, nil
}

// Own are the limits in force for this process, which are those of the session that it is in.
func (h *Host) Own() (Limits, error) {
	self, err := h.proc.Self()
	if err != nil {
		return Limits{}, err
	}
	lines, err := self.Cgroups()
	if err != nil {
		return Limits{}, err
	}
	return h.limits(h.groups.placeOf(lines), []procfs.Proc{self})
}

// locate finds the containers that are meant, and their groups.
func (h *Host) locate(ctx context.Context, ids []string) (map[string]string, map[string]place, error) {
	meant, err := h.containers(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	places, err := h.groups.locate(ctx, slices.Collect(maps.Values(meant)))
	return meant, places, err
}

// limits are those in force for a group, and the cores of the first of its processes that is still there: databases have
// children that live for a moment.
func (h *Host) limits(at place, processes []procfs.Proc) (Limits, error) {
	for _, name := range controllers {
		if at[name] == "" {
			return Limits{}, errors.New("it has no control group for " + name)
		}
	}
	limits, err := h.groups.limits(at)
	for _, process := range processes {
		if status, err := process.NewStatus(); err == nil {
			limits.Cores = status.CpusAllowedList
			break
		}
	}
	return limits, err
}

// processes are those of each container, the lowest id first. They are found in /proc, as cgroup.procs shows no process outside
// of its reader's own PID namespace, and not every orchestrator lets a container share the host's. In version 1 a process
// that starts joins one hierarchy after the other: it counts once its memory does, which engines join after the cpuset.
func (h *Host) processes(ctx context.Context, places map[string]place) (map[string][]procfs.Proc, error) {
	found := make(map[string][]procfs.Proc, len(places))
	if len(places) == 0 {
		return found, nil
	}
	all, err := h.proc.AllProcs()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b procfs.Proc) int { return a.PID - b.PID })
	for _, process := range all {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		groups, err := process.Cgroups()
		if err != nil { // it has ended meanwhile
			continue
		}
		for id := range places {
			in := func(group procfs.Cgroup) bool {
				return h.groups.of(group, "memory") && strings.Contains(group.Path, id)
			}
			if slices.ContainsFunc(groups, in) && lives(process) {
				found[id] = append(found[id], process)
			}
		}
	}
	return found, nil
}

// lives is false for a zombie, which has no memory and no cores any more.
func lives(process procfs.Proc) bool {
	stat, err := process.Stat()
	return err == nil && stat.State != "Z" && stat.State != "X"
}
