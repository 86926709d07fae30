package counters

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"
)

// controllers are those that limits and counters are read from.
var controllers = []string{"cpu", "cpuacct", "cpuset", "memory"}

// threadCounter is used where it is mounted. In version 2 it has its file beside the others.
const threadCounter = "pids"

// groups are the control groups of one kernel: a hierarchy per controller (version 1) or one for all (version 2).
type groups struct {
	points map[string]string // where each controller's hierarchy is mounted
	files                    // of that version
}

// files are what the two versions of control groups call differently.
type files interface {
	// cpu is the limit that one folder sets, in cores' worth of time; nil if none.
	cpu(folder string) (*float64, error)
	// memory is the limit that one folder sets, in bytes; nil if none.
	memory(folder string) (*int64, error)
	usage(place) (Usage, error)
	newPeak(place) bool
	// has says whether a group of /proc/PID/cgroup is of the hierarchy that limits memory.
	has(group procfs.Cgroup) bool
	// sources are the files that a recording reads of each replica; of those that count the same the best comes first.
	sources() []source
}

// place is the folder of one container's group, by controller.
type place map[string]string

// findGroups chooses the version as the kernel uses it: a hybrid machine mounts both, and the unified hierarchy counts
// only if it has the controllers. A hierarchy that is mounted twice is read where it was mounted first.
func findGroups(mounts []*procfs.MountInfo) (groups, error) {
	points := map[string]string{}
	unified := ""
	for _, mount := range mounts {
		switch mount.FSType {
		case "cgroup2":
			if unified == "" {
				unified = mount.MountPoint
			}
		case "cgroup":
			for _, name := range append(controllers, threadCounter) {
				if _, has := mount.SuperOptions[name]; has && points[name] == "" {
					points[name] = mount.MountPoint
				}
			}
		}
	}
	if unified != "" {
		if offered, err := read(unified, "cgroup.controllers"); err == nil && slices.Contains(strings.Fields(offered), "cpu") {
			for _, name := range controllers {
				points[name] = unified
			}
			return groups{points, version2{}}, nil
		}
	}
	for _, name := range controllers {
		if points[name] == "" {
			return groups{}, errors.New("no control groups for " + name + " are mounted")
		}
	}
	return groups{points, version1{}}, nil
}

// locate finds the groups of containers: the folders that are named after them, wherever their engine put them. Docker
// and containerd call them ID, and docker-ID.scope or cri-containerd-ID.scope under systemd.
func (g groups) locate(ctx context.Context, ids []string) (map[string]place, error) {
	folders, err := search(ctx, g.points["memory"], ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]place, len(folders))
	for id, folder := range folders {
		found[id] = place{"memory": folder}
	}
	for controller := range g.points {
		if err := g.follow(ctx, controller, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// follow completes places by a controller's folders, which mostly have the same path in its hierarchy.
func (g groups) follow(ctx context.Context, controller string, found map[string]place) error {
	var astray []string
	for id, place := range found {
		path, err := filepath.Rel(g.points["memory"], place["memory"])
		if err != nil {
			return err
		}
		folder := filepath.Join(g.points[controller], path)
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			place[controller] = folder
		} else {
			astray = append(astray, id)
		}
	}
	folders, err := search(ctx, g.points[controller], astray)
	for id, folder := range folders {
		found[id][controller] = folder
	}
	return err
}

// at is the place of a group by its path below each mount: the folders that are there.
func (g groups) at(path string) place {
	found := place{}
	for controller, point := range g.points {
		folder := filepath.Join(point, path)
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			found[controller] = folder
		}
	}
	return found
}

// search walks a hierarchy until all ids were met.
func search(ctx context.Context, point string, ids []string) (map[string]string, error) {
	found := make(map[string]string, len(ids))
	err := filepath.WalkDir(point, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || !entry.IsDir(): // what cannot be read was removed meanwhile
			return nil
		case len(found) == len(ids):
			return filepath.SkipAll
		}
		for _, id := range ids {
			if found[id] == "" && strings.Contains(entry.Name(), id) {
				found[id] = path
			}
		}
		if isLeaf(entry) {
			return filepath.SkipDir
		}
		return nil
	})
	return found, err
}

// isLeaf says that no folder is in a folder, which its two links tell: to list the kernel's files takes far longer.
func isLeaf(folder fs.DirEntry) bool {
	info, err := folder.Info()
	if err != nil {
		return true
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	return known && stat.Nlink == 2
}

// limits are the tightest on the way from a container's group to the root.
func (g groups) limits(at place) (limits Limits, err error) {
	limits.CPU, err = tightest(g.points["cpu"], at["cpu"], g.cpu)
	if err == nil {
		limits.Memory, err = tightest(g.points["memory"], at["memory"], g.memory)
	}
	return limits, err
}

// tightest asks each folder from a group up to the root for its limit.
func tightest[T int64 | float64](root, folder string, limit func(string) (*T, error)) (*T, error) {
	var least *T
	for ; ; folder = filepath.Dir(folder) {
		here, err := limit(folder)
		if err != nil {
			return nil, err
		}
		if here != nil && (least == nil || *here < *least) {
			least = here
		}
		if folder == root {
			return least, nil
		}
	}
}

func read(folder, file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, file))
	return strings.TrimSpace(string(text)), err
}

func readNumber(folder, file string) (int64, error) {
	text, err := read(folder, file)
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, unreadable(folder, file, text)
	}
	return number, nil
}

// readFlat reads a file of `key number` lines; what is not there is nil.
func readFlat(folder, file string) (map[string]*int64, error) {
	text, err := read(folder, file)
	if err != nil {
		return nil, err
	}
	numbers := map[string]*int64{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if number, err := strconv.ParseInt(value, 10, 64); err == nil {
			numbers[key] = &number
		}
	}
	return numbers, nil
}

func unreadable(folder, file, text string) error {
	return errors.New(filepath.Join(folder, file) + " holds " + strconv.Quote(text) + ", which is no number")
}

// scaled is a number in a larger unit; nil stays nil.
func scaled(number *int64, by float64) *float64 {
	if number == nil {
		return nil
	}
	value := float64(*number) / by
	return &value
}
