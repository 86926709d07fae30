package node

import (
	"context"
	"encoding/json"
	"os"

	"loadstone.dev/stone/node/process"
)

type listArgs struct {
	Deployment string `json:"deployment"` // empty: all
}

// Listed is what the journal knows.
type Listed struct {
	Deployments []Deployment `json:"deployments"`
}

// Deployment is one that was begun and not ended.
type Deployment struct {
	Deployment string    `json:"deployment"`
	Digest     string    `json:"digest"`
	Owner      string    `json:"owner"`
	Folder     string    `json:"folder"`
	Group      *string   `json:"group"`
	Processes  []Process `json:"processes"`
}

// Process is one that was spawned.
type Process struct {
	Name  string `json:"name"`
	PID   int    `json:"pid"` // 0 if it never began, or before the last boot
	Alive bool   `json:"alive"`
	CPUs  []int  `json:"cpus"` // those that it may use, while it is alive
	// ExitCode and Signal are those of a process that has ended before a node that spawned it.
	ExitCode *int   `json:"exit_code"`
	Signal   string `json:"signal"`
	OOMKills *int64 `json:"oom_kills"` // nil where the kernel does not count them
	SinceNS  int64  `json:"since_ns"`  // when it was started, ns since 1970; 0 if it never was
}

// list gives the deployments in the journal.
func (n *Node) list(_ context.Context, _ *call, args listArgs) (answer, error) {
	listed := Listed{[]Deployment{}}
	if args.Deployment != "" {
		entry, err := n.find(args.Deployment)
		if err != nil {
			return answer{}, err
		}
		deployment, err := n.describe(entry)
		listed.Deployments = append(listed.Deployments, deployment)
		return answer{value: listed}, err
	}
	folders, err := os.ReadDir(n.deployments())
	if err != nil && !os.IsNotExist(err) {
		return answer{}, err
	}
	for _, folder := range folders {
		entry, err := n.find(folder.Name())
		if err != nil { // being begun or ended at this moment
			continue
		}
		deployment, err := n.describe(entry)
		if err != nil {
			return answer{}, err
		}
		listed.Deployments = append(listed.Deployments, deployment)
	}
	return answer{value: listed}, nil
}

func (n *Node) describe(entry *journaled) (Deployment, error) {
	names, err := entry.names()
	deployment := Deployment{entry.Deployment, entry.Digest, entry.Owner, entry.data(), entry.Group, []Process{}}
	for _, name := range names {
		stat, since, alive := n.recorded(entry, name)
		process := Process{Name: name, PID: stat.PID, Alive: alive, CPUs: []int{}, SinceNS: since}
		if alive {
			process.CPUs = allowedCPUs(stat.PID)
		} else {
			state := n.howEnded(entry, name)
			process.ExitCode, process.Signal = state.ExitCode, state.Signal
		}
		if group := entry.group(name); group != "" {
			process.OOMKills = n.oomKills(group)
		}
		deployment.Processes = append(deployment.Processes, process)
	}
	return deployment, err
}

// howEnded is how a process that is not alive ended; empty where that was not seen.
func (n *Node) howEnded(entry *journaled, name string) (state ended) {
	n.reaper.await(entry.ended(name))
	text, err := os.ReadFile(entry.ended(name))
	if err == nil {
		_ = json.Unmarshal(text, &state) // empty where it is damaged
	}
	return state
}

// identity is the process that wrote a record, and whether it is alive; zero if none did in this boot.
func (n *Node) identity(entry *journaled, name string) (process.Stat, bool) {
	stat, _, alive := n.recorded(entry, name)
	return stat, alive
}

func (n *Node) recorded(entry *journaled, name string) (stat process.Stat, since int64, alive bool) {
	written := recorded{}
	text, err := os.ReadFile(entry.record(name))
	if err != nil || json.Unmarshal(text, &written) != nil {
		return stat, 0, false
	}
	parsed, err := process.Parse(written.Stat)
	if boot, wrong := n.boot(); err != nil || wrong != nil || boot != written.Boot {
		return stat, written.SinceNS, false
	}
	now, err := process.Read(parsed.PID)
	return parsed, written.SinceNS, err == nil && now.Is(parsed) && now.Alive()
}
