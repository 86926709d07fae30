package counters

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Environment is what lies between a replica's first process and the kernel that it runs on.
type Environment struct {
	// Container is the id of the container whose engine made its control group; empty: no engine did.
	Container string `json:"container"`
	// Namespaces are by kind whose its namespace is, empty where the kernel does not let us know; none without a process.
	Namespaces map[string]Owner `json:"namespaces"`
	// Files is the mount that holds the folder of its files; nil without a folder.
	Files *Mounted `json:"files"`
}

// Owner says whose a namespace is.
type Owner string

// Owners of namespaces. An emulated host has some of its own, which are those of its node.
const (
	OfKernel  Owner = "kernel" // that of the kernel's first process
	OfNode    Owner = "node"   // another, in which the node is too
	OfReplica Owner = "own"
)

// Mounted is a mount as a process sees it.
type Mounted struct {
	Point string `json:"point"`
	Type  string `json:"type"` // file system type
}

// kinds are the namespaces that a process has, as /proc/PID/ns names them.
var kinds = []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"}

// first are the numbers that kernels give to the namespaces of their first process (include/linux/proc_ns.h, part of its
// interface). That process may be closed to us, or hidden by a container that Loadstone itself runs in.
var first = map[string]string{
	"cgroup": "cgroup:[4026531835]", "ipc": "ipc:[4026531839]", "pid": "pid:[4026531836]",
	"user": "user:[4026531837]", "uts": "uts:[4026531838]",
}

// Namespaces says of a process whose namespaces it is in, by kind.
func Namespaces(proc, process string) map[string]Owner {
	owners := make(map[string]Owner, len(kinds))
	for _, kind := range kinds {
		owners[kind] = owner(proc, kind, link(proc, process, kind))
	}
	return owners
}

func owner(proc, kind, its string) Owner {
	switch {
	case its == "":
		return ""
	case its == first[kind] || first[kind] == "" && its == link(proc, "1", kind):
		return OfKernel
	case its == link(proc, "self", kind):
		return OfNode
	}
	return OfReplica
}

func link(proc, process, kind string) string {
	target, _ := os.Readlink(filepath.Join(proc, process, "ns", kind))
	return target
}

// environment of a group's processes, of which the first one speaks for all.
func (h *Host) environment(at place, processes []procfs.Proc, folder string) *Environment {
	found := &Environment{Namespaces: map[string]Owner{}}
	if len(processes) > 0 {
		found.Namespaces = Namespaces(h.roots.Proc, strconv.Itoa(processes[0].PID))
	}
	if path, err := filepath.Rel(h.groups.mounts["memory"].Point, at["memory"]); err == nil {
		found.Container = containerID.FindString(path)
	}
	if len(processes) > 0 && folder != "" {
		found.Files = holding(processes[0], folder)
	}
	return found
}

// holding is the mount that holds a folder of a process; nil where its mounts cannot be read. The last of those mounted at
// one point hides the others.
func holding(process procfs.Proc, folder string) *Mounted {
	mounts, err := process.MountInfo()
	if err != nil {
		return nil
	}
	var found *Mounted
	for _, mount := range mounts {
		inside := mount.MountPoint == "/" || folder == mount.MountPoint || strings.HasPrefix(folder, mount.MountPoint+"/")
		if inside && (found == nil || len(mount.MountPoint) >= len(found.Point)) {
			found = &Mounted{mount.MountPoint, mount.FSType}
		}
	}
	return found
}
