package groups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// optional1 is used where it is mounted.
const optional1 = "pids"

// version1 is a hierarchy per controller (Documentation/admin-guide/cgroup-v1 of Linux): mounts by controller.
type version1 struct{ mounts map[string]Mount }

func (v version1) problem() string {
	for _, name := range controllers {
		if _, mounted := v.mounts[name]; !mounted && name != optional1 {
			return "no control groups for " + name + " are mounted"
		}
	}
	for _, mount := range v.mounts {
		if !writable(mount.Point) {
			return "no permission to make control groups below " + mount.Point + "; run as root"
		}
	}
	return ""
}

// folders: several controllers may share one hierarchy, as cpu and cpuacct do on most distributions.
func (v version1) folders(group string) []string {
	var folders []string
	for _, name := range controllers {
		mount, mounted := v.mounts[name]
		if folder := filepath.Join(mount.Point, group); mounted && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

func (v version1) create(group string, limits Limits) error {
	for _, folder := range v.folders(group) {
		if err := makeFolders(folder); err != nil {
			return err
		}
	}
	at := func(controller string) string { return filepath.Join(v.mounts[controller].Point, group) }
	if err := v.openCPUSet(at("cpuset"), limits.Cores); err != nil {
		return err
	}
	quota, limited := limits.quota()
	if !limited {
		quota = -1
	}
	if err := write(at("cpu"), "cpu.cfs_period_us", strconv.Itoa(periodUS)); err != nil {
		return err
	}
	if err := write(at("cpu"), "cpu.cfs_quota_us", strconv.FormatInt(quota, 10)); err != nil {
		return fmt.Errorf("%w; does a group above it have a smaller quota?", err) // version 2 would only not grant it
	}
	if _, mounted := v.mounts[optional1]; mounted {
		if err := write(at(optional1), "pids.max", orMax(limits.PIDs)); err != nil {
			return err
		}
	} else if limits.PIDs != nil {
		return errors.New("no control groups for pids are mounted")
	}
	return v.limitMemory(at("memory"), limits.Memory)
}

// openCPUSet: a cpuset begins empty, and an empty one takes no process. Those above are filled from their parents first.
func (v version1) openCPUSet(folder string, cores []int) error {
	if folder == v.mounts["cpuset"].Point {
		return nil
	}
	above := filepath.Dir(folder)
	if read(above, "cpuset.cpus") == "" || read(above, "cpuset.mems") == "" {
		if err := v.openCPUSet(above, nil); err != nil {
			return err
		}
	}
	list := formatCores(cores)
	if list == "" {
		list = read(above, "cpuset.cpus")
	}
	if err := write(folder, "cpuset.mems", read(above, "cpuset.mems")); err != nil {
		return err
	}
	return write(folder, "cpuset.cpus", list)
}

// limitMemory limits memory, and memory and swap together where the kernel counts that: it is never below memory, so the
// order of the two depends on whether the limit rises.
func (v version1) limitMemory(folder string, limit *int64) error {
	files, value := []string{"memory.limit_in_bytes"}, "-1"
	if limit != nil {
		value = strconv.FormatInt(*limit, 10)
	}
	const withSwap = "memory.memsw.limit_in_bytes"
	if _, err := os.Stat(filepath.Join(folder, withSwap)); !errors.Is(err, fs.ErrNotExist) {
		files = append(files, withSwap)
	}
	now, err := strconv.ParseInt(read(folder, files[0]), 10, 64)
	if limit == nil || err == nil && *limit > now {
		slices.Reverse(files)
	}
	for _, file := range files {
		if err := write(folder, file, value); err != nil {
			return err
		}
	}
	return nil
}

func (v version1) kill(string) bool { return false }
