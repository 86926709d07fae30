package groups

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// Mounts are the hierarchies of control groups that a kernel shows.
type Mounts struct {
	Version string           // "v1", a hierarchy per controller; "v2", one for all; "" without controllers
	Of      map[string]Mount // the hierarchy of each controller that is mounted
	All     []string         // where hierarchies of that version are mounted, those without limits too
}

// Mount is a hierarchy: what lies below Root of it is seen at Point.
type Mount struct{ Point, Root string }

var controllers = []string{"cpu", "cpuacct", "cpuset", "memory", "pids"}

// BlockIO is only read, where version 1 has it mounted. In version 2 it has its file beside the others.
const BlockIO = "blkio"

// FindMounts reads the mounts that proc lists; with below, only those there count: in a container, its own come first in
// that list, the host's are where it was given them. A hierarchy that is mounted twice counts where it was mounted first.
func FindMounts(proc, below string) (Mounts, error) {
	files, err := procfs.NewFS(proc)
	if err != nil {
		return Mounts{}, err
	}
	self, err := files.Self()
	if err != nil {
		return Mounts{}, fmt.Errorf("%s is no /proc of ours: %w", proc, err)
	}
	listed, err := self.MountInfo()
	if err != nil {
		return Mounts{}, fmt.Errorf("the mounts in %s cannot be read: %w", proc, err)
	}
	found, unified := Mounts{Of: map[string]Mount{}}, Mount{}
	for _, mount := range listed {
		here := Mount{mount.MountPoint, mount.Root}
		switch {
		case below != "" && !within(filepath.Clean(below), here.Point):
		case mount.FSType == "cgroup2":
			unified = cmp.Or(unified, here)
			found.All = append(found.All, here.Point)
		case mount.FSType == "cgroup":
			found.All = append(found.All, here.Point)
			for _, name := range append(slices.Clone(controllers), BlockIO) {
				if _, has := mount.SuperOptions[name]; has && found.Of[name] == (Mount{}) {
					found.Of[name] = here
				}
			}
		}
	}
	// A hybrid machine mounts both versions: the unified hierarchy counts only if it has the controllers.
	offered, err := os.ReadFile(filepath.Join(unified.Point, "cgroup.controllers"))
	switch {
	case unified != (Mount{}) && err == nil && slices.Contains(strings.Fields(string(offered)), "cpu"):
		found = Mounts{"v2", map[string]Mount{}, []string{unified.Point}}
		for _, name := range controllers {
			found.Of[name] = unified
		}
	case len(found.Of) > 0:
		found.Version = "v1"
	}
	return found, nil
}

// Folder is that of a group which /proc/PID/cgroup calls path; the mount itself where the group lies outside of it.
func (m Mount) Folder(path string) string {
	relative, err := filepath.Rel(m.Root, path)
	if err != nil || !filepath.IsLocal(relative) {
		return m.Point
	}
	return filepath.Join(m.Point, relative)
}

func within(folder, path string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}
