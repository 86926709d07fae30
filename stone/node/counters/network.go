package counters

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
)

// Columns of /proc/PID/net/dev.
const (
	receivedBytes = iota
	receivedPackets
	_
	receivedDropped
	transmittedBytes   = 8
	transmittedPackets = 9
	transmittedDropped = 11
	interfaceColumns   = 16
)

// interfaces reads a network: that of the node, or another one on it. The network of the node is that of its first
// process, since /proc/net is that of the reader.
type interfaces struct {
	file     *kernelFile
	prefix   string
	subjects map[string]string
}

func openInterfaces(h *Host) (collector, error) {
	file, err := openFile(filepath.Join(h.roots.Proc, "1/net/dev"))
	if err != nil {
		return nil, err
	}
	return &interfaces{file, "interface:", map[string]string{}}, nil
}

// openNetworks opens the networks that are not known to be the node's own, and says why not of others.
func (h *Host) openNetworks(wanted map[string]Subject) set {
	opened := set{absent: map[string]string{}}
	for name, subject := range wanted {
		family := "network:" + name
		pid := firstMember(h.groups.at(subject.Group))
		var file *kernelFile
		if own, known := h.inOwnNetwork(pid); own || !known {
			file = h.network(pid)
		}
		if file == nil {
			opened.absent[family] = "no process of " + subject.Group + " had a network of its own when the recording began"
			continue
		}
		opened.add(family, &interfaces{file, family + "/", map[string]string{}})
	}
	return opened
}

func (n *interfaces) read(r *reading) error {
	text, err := r.file(n.file)
	if err != nil {
		return err
	}
	return eachInterface(text, func(name []byte, counts [interfaceColumns]uint64) {
		subject, known := n.subjects[string(name)]
		if !known {
			subject = n.prefix + string(name)
			n.subjects[string(name)] = subject
		}
		r.put(subject, "network_received_bytes_total", float64(counts[receivedBytes]))
		r.put(subject, "network_transmitted_bytes_total", float64(counts[transmittedBytes]))
		r.put(subject, "network_received_packets_total", float64(counts[receivedPackets]))
		r.put(subject, "network_transmitted_packets_total", float64(counts[transmittedPackets]))
		r.put(subject, "network_received_dropped_total", float64(counts[receivedDropped]))
		r.put(subject, "network_transmitted_dropped_total", float64(counts[transmittedDropped]))
	})
}

func (n *interfaces) close() { closeAll(n.file) }

// eachInterface tells the counters of each interface in a /proc/PID/net/dev, which begins with two lines of headings.
func eachInterface(text []byte, tell func(name []byte, counts [interfaceColumns]uint64)) error {
	var counts [interfaceColumns]uint64
	lines := 0
	for line := range bytes.Lines(text) {
		if lines++; lines <= 2 {
			continue
		}
		colon := bytes.LastIndexByte(line, ':')
		if colon < 0 {
			return fmt.Errorf("net/dev holds %q, which names no interface", line)
		}
		columns := 0
		for field := range bytes.FieldsSeq(line[colon+1:]) {
			number, err := strconv.ParseUint(string(field), 10, 64)
			if err != nil || columns == interfaceColumns {
				return fmt.Errorf("net/dev holds %q, whose column %d is no counter", line, columns+1)
			}
			counts[columns] = number
			columns++
		}
		if columns != interfaceColumns {
			return fmt.Errorf("net/dev holds %q, which has %d of %d columns", line, columns, interfaceColumns)
		}
		tell(bytes.TrimSpace(line[:colon]), counts)
	}
	if lines < 2 {
		return errors.New("net/dev is empty")
	}
	return nil
}
