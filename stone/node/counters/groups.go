package counters

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"

	"loadstone.dev/stone/node/groups"
)

// controllers are those that limits and counters are read from.
var controllers = []string{"cpu", "cpuacct", "cpuset", "memory"}

// threadCounter is used where it is mounted. In version 2 it has its file beside the others.
const threadCounter = "pids"

// blockIO is read where it is mounted, as threadCounter is.
const blockIO = groups.BlockIO

// hierarchies are the control groups of one kernel: a hierarchy per controller (version 1) or one for all (version 2).
type hierarchies struct {
	mounts map[string]groups.Mount // by controller
	files                          // the names in that version
}

// files are what the two versions of control groups call differently.
type files interface {
	// cpu is the limit that one folder sets, in cores' worth of time; nil if none.
	cpu(folder string) (*float64, error)
	// memory is the limit that one folder sets, in bytes; nil if none.
	memory(folder string) (*int64, error)
	usage(place) (Usage, error)
	newPeak(place) bool
	// of says whether a line of /proc/PID/cgroup is that of the hierarchy of a controller.
	of(line procfs.Cgroup, controller string) bool
	// sources are the files that a recording reads of each replica; of those that count the same the best comes first.
	sources() []source
}

// place is the folder of one container's group, by controller.
type place map[string]string

// findHierarchies takes the controllers from where they are mounted.
func findHierarchies(mounts groups.Mounts) (hierarchies, error) {
	if mounts.Version == "v2" {
		needed := maps.Clone(mounts.Of)
		delete(needed, threadCounter)
		return hierarchies{needed, version2{}}, nil
	}
	for _, name := range controllers {
		if _, mounted := mounts.Of[name]; !mounted {
			return hierarchies{}, errors.New("no control groups for " + name + " are mounted")
		}
	}
	return hierarchies{mounts.Of, version1{}}, nil
}

// locate finds the groups of containers: the folders that are named after them, wherever their engine put them. Docker
// and containerd call them ID, and docker-ID.scope or cri-containerd-ID.scope under systemd.
func (h hierarchies) locate(ctx context.Context, ids []string) (map[string]place, error) {
	folders, err := search(ctx, h.mounts["memory"].Point, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]place, len(folders))
	for id, folder := range folders {
		found[id] = place{"memory": folder}
	}
	for controller := range h.mounts {
		if err := h.follow(ctx, controller, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// follow completes places by a controller's folders, which mostly have the same path in its hierarchy.
func (h hierarchies) follow(ctx context.Context, controller string, found map[string]place) error {
	var astray []string
	for id, place := range found {
		path, err := filepath.Rel(h.mounts["memory"].Point, place["memory"])
		if err != nil {
			return err
		}
		folder := filepath.Join(h.mounts[controller].Point, path)
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			place[controller] = folder
		} else {
			astray = append(astray, id)
		}
	}
	folders, err := search(ctx, h.mounts[controller].Point, astray)
	for id, folder := range folders {
		found[id][controller] = folder
	}
	return err
}

// at is the place of a group by its path below each mount: the folders that are there.
func (h hierarchies) at(path string) place {
	found := place{}
	for controller, mount := range h.mounts {
		folder := filepath.Join(mount.Point, path)
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			found[controller] = folder
		}
	}
	return found
}

// placeOf is the place of a process by the lines of its /proc/PID/cgroup.
func (h hierarchies) placeOf(lines []procfs.Cgroup) place {
	found := place{}
	for controller, mount := range h.mounts {
		for _, line := range lines {
			if h.of(line, controller) {
				found[controller] = mount.Folder(line.Path)
			}
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
func (h hierarchies) limits(at place) (limits Limits, err error) {
	limits.CPU, err = tightest(h.mounts["cpu"].Point, at["cpu"], h.cpu)
	if err == nil {
		limits.Memory, err = tightest(h.mounts["memory"].Point, at["memory"], h.memory)
	}
	return limits, err
}

// tightest is the lowest limit of all folders from a group up to the root.
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
