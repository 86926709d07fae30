package counters

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Standing is what the kernel says of one replica now. Absent says why there is nothing.
type Standing struct {
	Absent      string       `json:"absent"`
	Limits      *Limits      `json:"limits"`
	Usage       *Usage       `json:"usage"`
	Environment *Environment `json:"environment"`
	Events      *Events      `json:"events"`
	IO          *IO          `json:"io"`
}

// IO is what the processes that live have read from storage and written to it, in bytes, since each began.
type IO struct {
	Read    int64 `json:"read"`
	Written int64 `json:"written"`
}

// Events count what befell a replica since it was started. Nil: this kernel does not count it.
type Events struct {
	OOMKills     *int64 `json:"oom_kills"`
	ForksRefused *int64 `json:"forks_refused"` // by its limit of processes and threads
}

// Parts are what to read of each replica.
type Parts struct{ Limits, Usage, Environment, Events, IO bool }

// Standings reads replicas, by name.
func (h *Host) Standings(ctx context.Context, wanted map[string]Subject, parts Parts) (map[string]Standing, error) {
	meant, places, err := h.locate(ctx, containersOf(wanted))
	if err != nil {
		return nil, err
	}
	processes, err := h.processes(ctx, places)
	if err != nil {
		return nil, err
	}
	answer := make(map[string]Standing, len(wanted))
	for name, subject := range wanted {
		at, its := places[meant[subject.Container]], processes[meant[subject.Container]]
		if subject.Group != "" {
			at = h.groups.at(subject.Group)
			its = h.members(at)
		}
		answer[name] = h.standing(at, its, parts, subject.Folder)
	}
	return answer, ctx.Err()
}

// NewPeaksOf begins a new peak of each replica's memory; false where the kernel or a read-only mount does not let us.
func (h *Host) NewPeaksOf(ctx context.Context, wanted map[string]Subject) (map[string]bool, error) {
	meant, places, err := h.locate(ctx, containersOf(wanted))
	if err != nil {
		return nil, err
	}
	answer := make(map[string]bool, len(wanted))
	for name, subject := range wanted {
		at := places[meant[subject.Container]]
		if subject.Group != "" {
			at = h.groups.at(subject.Group)
		}
		answer[name] = at["memory"] != "" && h.groups.newPeak(at)
	}
	return answer, nil
}

// OOMKills counts the processes of one of our groups that the kernel killed for memory; nil where it does not count.
func (h *Host) OOMKills(group string) *int64 {
	usage, err := h.groups.usage(h.groups.at(group))
	if err != nil {
		return nil
	}
	return usage.OOMKills
}

// members are the processes in a group and in those below it, the lowest id first.
func (h *Host) members(at place) []procfs.Proc {
	var pids []int
	_ = filepath.WalkDir(at["memory"], func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.IsDir() { // what cannot be read was removed meanwhile
			return nil
		}
		text, _ := read(path, "cgroup.procs")
		for line := range strings.Lines(text) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	slices.Sort(pids)
	var found []procfs.Proc
	for _, pid := range slices.Compact(pids) {
		if process, err := h.proc.Proc(pid); err == nil && lives(process) {
			found = append(found, process)
		}
	}
	return found
}

func (h *Host) standing(at place, processes []procfs.Proc, parts Parts, folder string) Standing {
	if len(at) == 0 {
		return Standing{Absent: "no control group of it is on this machine"}
	}
	standing, usage := Standing{}, Usage{}
	if parts.Limits {
		limits, err := h.limits(at, processes)
		if err != nil {
			return Standing{Absent: err.Error()}
		}
		standing.Limits = &limits
	}
	if parts.Usage || parts.Events {
		var err error
		if usage, err = h.groups.usage(at); err != nil {
			return Standing{Absent: err.Error()}
		}
		usage.Processes = len(processes)
	}
	if parts.Usage {
		standing.Usage = &usage
	}
	if parts.Events {
		standing.Events = &Events{OOMKills: usage.OOMKills}
		if counts, err := readFlat(at[threadCounter], "pids.events"); err == nil {
			standing.Events.ForksRefused = counts["max"]
		}
	}
	if parts.Environment {
		standing.Environment = h.environment(at, processes, folder)
	}
	if parts.IO {
		standing.IO = sumIO(processes)
	}
	return standing
}

// sumIO adds up what processes have read and written; nil where the kernel does not let us know of any.
func sumIO(processes []procfs.Proc) *IO {
	var sum *IO
	for _, process := range processes {
		counts, err := process.IO()
		if err != nil { // it has just ended, is not ours, or the kernel does not count
			continue
		}
		if sum == nil {
			sum = &IO{}
		}
		sum.Read += int64(counts.ReadBytes)
		sum.Written += int64(counts.WriteBytes)
	}
	return sum
}
