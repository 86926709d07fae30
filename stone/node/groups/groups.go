// Package groups makes, limits, kills and removes control groups, in both of the kernel's interfaces: version 1, a
// hierarchy per controller, and version 2, one for all. A group is named by its path below a hierarchy's mount.
package groups

import (
	"fmt"
	"path/filepath"
)

// Limits of a group: cores' worth of processor time, bytes, the cores themselves, processes and threads. Nil, or no
// cores: no limit.
type Limits struct {
	CPU    *float64 `json:"cpu"`
	Memory *int64   `json:"memory"`
	Cores  []int    `json:"cores"`
	PIDs   *int64   `json:"pids"`
}

// periodUS is the period of CPU limits: the kernel's default, and what every orchestrator uses.
const periodUS = 100_000

// Kernel is the control groups of this machine.
type Kernel struct {
	interfaces          // nil where there is none
	name       string   // name of the cgroup version
	points     []string // all mounts, those without limits too
}

// interfaces are what the versions do differently.
type interfaces interface {
	problem() string
	// folders of a group, one a hierarchy.
	folders(group string) []string
	// create a group's folders and limit it.
	create(group string, limits Limits) error
	// kill all at once; false where the kernel cannot.
	kill(group string) bool
}

// Find the control groups that proc says are mounted; with below, only those mounted there.
func Find(proc, below string) (*Kernel, error) {
	mounts, err := FindMounts(proc, below)
	kernel := &Kernel{name: mounts.Version, points: mounts.All}
	switch mounts.Version {
	case "v1":
		kernel.interfaces = version1{mounts.Of}
	case "v2":
		kernel.interfaces = version2{mounts.Of["cpu"].Point}
	}
	return kernel, err
}

// Version is "v1", "v2", or "" without the controllers.
func (k *Kernel) Version() string { return k.name }

// Problem says why groups cannot be made by this user; empty if they can.
func (k *Kernel) Problem() string {
	if k.interfaces == nil {
		return "no control groups with limits are mounted on this machine"
	}
	return k.problem()
}

// Make a group, and those above it without limits, and limit it. Making one again limits it anew.
func (k *Kernel) Make(group string, limits Limits) error {
	if err := limits.check(); err != nil {
		return err
	}
	return k.create(group, limits)
}

// Open makes a group without limits in every hierarchy. Container engines that begin at a group expect it in all.
func (k *Kernel) Open(group string) error {
	for _, point := range k.points {
		if err := makeFolders(filepath.Join(point, group)); err != nil {
			return err
		}
	}
	return k.Make(group, Limits{})
}

// Joining are the files to which a process writes its id in order to join.
func (k *Kernel) Joining(group string) []string {
	var files []string
	for _, folder := range k.folders(group) {
		files = append(files, filepath.Join(folder, members))
	}
	return files
}

// check what a kernel would take for something else.
func (l Limits) check() error {
	switch {
	case l.CPU != nil && !(*l.CPU >= 0.01 && *l.CPU <= 1e5):
		return fmt.Errorf("cpu: %v is no limit: give cores' worth of time from 0.01 on", *l.CPU)
	case l.Memory != nil && *l.Memory < 1<<20:
		return fmt.Errorf("memory: %d is no limit: give bytes, 1 MiB or more", *l.Memory)
	case l.PIDs != nil && *l.PIDs < 1:
		return fmt.Errorf("pids: %d is no limit: give 1 or more", *l.PIDs)
	}
	return nil
}

func (l Limits) quota() (int64, bool) {
	if l.CPU == nil {
		return 0, false
	}
	return int64(*l.CPU*periodUS + 0.5), true
}
