package counters

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Subject says where a replica runs: in a container, by its id or that of its allocation in Nomad, or in a control
// group of Loadstone, by its path below each controller's mount. Exactly one is given.
type Subject struct {
	Container string `json:"container"`
	Group     string `json:"group"`
	Folder    string `json:"folder"` // the folder of its files, as the replica sees it; empty: it has none
}

// groupsOfOurs is where Loadstone keeps its control groups.
const groupsOfOurs = "loadstone/"

// Problem says what is wrong with it.
func (s Subject) Problem() error {
	switch {
	case (s.Container == "") == (s.Group == ""):
		return errors.New(`give either its "container" or its "group"`)
	case s.Container != "":
		return checkID(s.Container)
	case !strings.HasPrefix(s.Group, groupsOfOurs) || !fs.ValidPath(s.Group) || strings.Contains(s.Group, ".."):
		return fmt.Errorf("%.200q is no group that may be read: give a path like %sDEPLOYMENT/REPLICA", s.Group, groupsOfOurs)
	}
	return nil
}

// replica reads the files of a replica's control group, and those of its network if that is its own.
type replica struct {
	subject string
	sources []openSource
	network *kernelFile
	gone    error
}

// openReplicas opens what there is of each replica, and says why not of others.
func (h *Host) openReplicas(ctx context.Context, wanted map[string]Subject) (set, error) {
	opened := set{absent: map[string]string{}}
	meant, places, err := h.locate(ctx, containersOf(wanted))
	if err != nil {
		return opened, err
	}
	processes, err := h.processes(ctx, places)
	if err != nil {
		return opened, err
	}
	for name, subject := range wanted {
		family, at := "replica:"+name, places[meant[subject.Container]]
		if subject.Group != "" {
			at = h.groups.at(subject.Group)
		}
		if len(at) == 0 {
			opened.absent[family] = fmt.Sprintf("no control group of %s when the recording began", subject.Container+subject.Group)
			continue
		}
		sources, first := h.groups.sources(), firstMember(at)
		if in := processes[meant[subject.Container]]; len(in) > 0 {
			first = in[0].PID
			sources = seen(sources, at)
		}
		opened.add(family, openReplica(family, sources, at, h.ownNetwork(first)))
	}
	return opened, nil
}

func containersOf(wanted map[string]Subject) []string {
	var ids []string
	for _, subject := range wanted {
		if subject.Container != "" {
			ids = append(ids, subject.Container)
		}
	}
	return ids
}

func openReplica(subject string, sources []source, at place, network *kernelFile) *replica {
	r := &replica{subject: subject, network: network}
	counted := map[string]bool{} // a metric with several sources is counted from the first that is there
	for _, source := range sources {
		path := filepath.Join(at[source.controller], source.file)
		if at[source.controller] == "" || counted[source.metric()] {
			continue
		}
		file, err := openFile(path)
		if err != nil { // this kernel does not count it
			continue
		}
		if source.members != "" {
			closeAll(file)
			file = nil
		}
		counted[source.metric()] = true
		r.sources = append(r.sources, openSource{source, path, file})
	}
	return r
}

func (r *replica) read(out *reading) error {
	if r.gone != nil {
		return r.gone
	}
	for i := range r.sources {
		if err := r.sources[i].read(out, r.subject); err != nil {
			r.gone = fmt.Errorf("its control group cannot be read any more: %w", err)
			r.close()
			return r.gone
		}
	}
	if r.network == nil {
		return nil
	}
	text, err := out.file(r.network)
	if err != nil {
		return err
	}
	received, transmitted, err := sumInterfaces(text)
	if err != nil {
		return err
	}
	out.put(r.subject, "container_network_received_bytes_total", float64(received))
	out.put(r.subject, "container_network_transmitted_bytes_total", float64(transmitted))
	return nil
}

// close also forgets the files, so that nothing is closed twice.
func (r *replica) close() {
	for i := range r.sources {
		closeAll(r.sources[i].file)
	}
	closeAll(r.network)
	r.sources, r.network = nil, nil
}

// ownNetwork opens the counters of a process's network namespace; nil where that is the node's own, or unknown.
func (h *Host) ownNetwork(pid int) *kernelFile {
	if own, known := h.inOwnNetwork(pid); !own || !known {
		return nil
	}
	return h.network(pid)
}

// network opens the counters of a process's network namespace; nil where there are none.
func (h *Host) network(pid int) *kernelFile {
	file, err := openFile(filepath.Join(h.roots.Proc, strconv.Itoa(pid), "net/dev"))
	if err != nil {
		return nil
	}
	return file
}

// inOwnNetwork says whether a process is in another network namespace than the node, where the kernel lets us know.
func (h *Host) inOwnNetwork(pid int) (own, known bool) {
	its, err := os.Readlink(filepath.Join(h.roots.Proc, strconv.Itoa(pid), "ns/net"))
	nodes, wrong := os.Readlink(filepath.Join(h.roots.Proc, "1/ns/net"))
	return its != nodes, err == nil && wrong == nil
}

// firstMember is the lowest id of a process in a group; 0 if none.
func firstMember(at place) int {
	least := 0
	members, _ := read(at["memory"], "cgroup.procs") // none if the group is gone
	for member := range strings.Lines(members) {
		if pid, err := strconv.Atoi(strings.TrimSpace(member)); err == nil && (least == 0 || pid < least) {
			least = pid
		}
	}
	return least
}

// sumInterfaces adds up the bytes of all interfaces but the loopback.
func sumInterfaces(text []byte) (received, transmitted uint64, err error) {
	err = eachInterface(text, func(name []byte, counts [interfaceColumns]uint64) {
		if string(name) != "lo" {
			received += counts[receivedBytes]
			transmitted += counts[transmittedBytes]
		}
	})
	return received, transmitted, err
}
