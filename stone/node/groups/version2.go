package groups

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

var needed2 = []string{"cpu", "memory", "cpuset", "pids"}

// version2 is one hierarchy for all controllers (Documentation/admin-guide/cgroup-v2.rst of Linux): its mount.
type version2 struct{ root string }

func (v version2) problem() string {
	if !writable(v.root) {
		return "no permission to make control groups below " + v.root + "; run as root"
	}
	if missing := without(needed2, strings.Fields(read(v.root, "cgroup.controllers"))); len(missing) > 0 {
		return "the controllers " + strings.Join(missing, ", ") + " are not available in " + v.root
	}
	// Only the true root may hold processes and hand controllers down at once; it has no cgroup.type. Inside a container
	// the visible root is an ordinary group.
	_, err := os.Stat(filepath.Join(v.root, "cgroup.type"))
	handedDown := len(without(needed2, strings.Fields(read(v.root, "cgroup.subtree_control")))) == 0
	if err == nil && !handedDown && read(v.root, members) != "" {
		return v.root + " holds processes itself, so it cannot hand controllers down (are we in a container?)"
	}
	return ""
}

func (v version2) folders(group string) []string { return []string{filepath.Join(v.root, group)} }

func (v version2) create(group string, limits Limits) error {
	folder := filepath.Join(v.root, group)
	if err := v.open(filepath.Dir(folder)); err != nil {
		return err
	}
	if err := makeFolders(folder); err != nil {
		return err
	}
	quota := "max"
	if granted, limited := limits.quota(); limited {
		quota = strconv.FormatInt(granted, 10)
	}
	values := [][2]string{
		{"cpu.max", quota + " " + strconv.Itoa(periodUS)},
		{"memory.max", orMax(limits.Memory)},
		{"pids.max", orMax(limits.PIDs)},
		{"cpuset.cpus", formatCores(limits.Cores) + "\n"},
	}
	if _, err := os.Stat(filepath.Join(folder, "memory.swap.max")); !errors.Is(err, fs.ErrNotExist) {
		swap := "max"
		if limits.Memory != nil { // otherwise a limit on memory would only move it to the disk
			swap = "0"
		}
		values = append(values, [2]string{"memory.swap.max", swap})
	}
	for _, value := range values {
		if err := write(folder, value[0], value[1]); err != nil {
			return err
		}
	}
	return nil
}

// open makes a folder and those above it, each of which hands its controllers down.
func (v version2) open(folder string) error {
	if folder != v.root {
		if err := v.open(filepath.Dir(folder)); err != nil {
			return err
		}
		if err := makeFolders(folder); err != nil {
			return err
		}
	}
	return write(folder, "cgroup.subtree_control", "+"+strings.Join(needed2, " +"))
}

// kill exists since Linux 5.14.
func (v version2) kill(group string) bool {
	return write(filepath.Join(v.root, group), "cgroup.kill", "1") == nil
}

func without(wanted, there []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return slices.Contains(there, name) })
}
