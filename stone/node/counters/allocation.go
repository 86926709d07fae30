package counters

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/procfs"
)

const containerDigits = 64

var (
	allocationID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	containerID  = regexp.MustCompile(`[0-9a-f]{64}`)
)

// containers resolves the requested ids to containers: a container's own id, or the id of a Nomad allocation, whose
// folders its container has mounted. What is not found is left out.
func (h *Host) containers(ctx context.Context, ids []string) (map[string]string, error) {
	meant := make(map[string]string, len(ids))
	var allocations []string
	for _, id := range ids {
		if allocationID.MatchString(id) {
			allocations = append(allocations, id)
		} else {
			meant[id] = id
		}
	}
	if len(allocations) == 0 {
		return meant, nil
	}
	all, err := h.proc.AllProcs()
	if err != nil {
		return nil, err
	}
	for _, process := range all {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		container := containerOf(process)
		if container == "" {
			continue
		}
		mounts, err := process.MountInfo()
		if err != nil { // it has ended meanwhile
			continue
		}
		for _, id := range allocations {
			for _, mount := range mounts {
				if strings.Contains(mount.Root, "/"+id+"/") {
					meant[id] = container
				}
			}
		}
	}
	return meant, nil
}

// containerOf is the container that a process is in; empty if none.
func containerOf(process procfs.Proc) string {
	groups, err := process.Cgroups()
	if err != nil {
		return ""
	}
	for _, group := range groups {
		if id := containerID.FindString(group.Path); id != "" {
			return id
		}
	}
	return ""
}

// checkID takes a container's id as every engine that Loadstone drives makes it. Nothing shorter, nothing else: it
// becomes a part of a search in the kernel's folders.
func checkID(id string) error {
	if (len(id) != containerDigits || !containerID.MatchString(id)) && !allocationID.MatchString(id) {
		return fmt.Errorf("%.80q is no container's id: give all of its 64 hexadecimal digits, or Nomad's allocation", id)
	}
	return nil
}
