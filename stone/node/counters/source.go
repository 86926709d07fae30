package counters

import (
	"bytes"
	"fmt"
	"slices"
)

// source is a file of a control group and what it counts: `key number` lines, one number (its key is empty), numbers
// of each device, which are added up, or as many lines as there are members.
type source struct {
	controller, file string
	counters         []counter
	devices          bool
	members          string // metric of their number; its file is opened anew for every reading
}

// counter is a number in a file: so many parts of a unit.
type counter struct {
	key, metric string
	parts       float64
}

// openSource is a source of one replica.
type openSource struct {
	source
	path string
	file *kernelFile // nil for members
}

// metric is what a source counts, or the first of that.
func (s source) metric() string {
	if s.members != "" {
		return s.members
	}
	return s.counters[0].metric
}

func (s *openSource) read(out *reading, subject string) error {
	file := s.file
	if s.members != "" { // version 1 answers a second reading of an open list as it did the first
		var err error
		if file, err = openFile(s.path); err != nil {
			return err
		}
		defer closeAll(file)
	}
	text, err := out.file(file)
	if err != nil {
		return err
	}
	return s.tell(text, out, subject)
}

func (s *source) tell(text []byte, out *reading, subject string) error {
	if s.members != "" {
		out.put(subject, s.members, float64(bytes.Count(text, []byte("\n"))))
		return nil
	}
	if s.devices {
		return s.sumDevices(text, out, subject)
	}
	for line := range bytes.Lines(text) {
		key, value, found := bytes.Cut(line, []byte(" "))
		if !found {
			key, value = nil, line
		}
		for _, counter := range s.counters {
			if string(key) != counter.key {
				continue
			}
			number, err := parseNumber(value)
			if err != nil {
				return fmt.Errorf("%s holds %q, which is no number", s.file, line)
			}
			out.put(subject, counter.metric, float64(number)/counter.parts)
		}
	}
	return nil
}

// sumDevices reads `8:0 Read 4096` of version 1 and `8:0 rbytes=4096 wbytes=0` of version 2. A device that was not used
// has no line.
func (s *source) sumDevices(text []byte, out *reading, subject string) error {
	sums := make([]uint64, len(s.counters))
	add := func(key, value []byte) error {
		for i, counter := range s.counters {
			if string(key) != counter.key {
				continue
			}
			number, err := parseNumber(value)
			if err != nil {
				return fmt.Errorf("%s holds %q, which is no number", s.file, value)
			}
			sums[i] += number
		}
		return nil
	}
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 3 && !bytes.ContainsRune(fields[1], '=') {
			if err := add(fields[1], fields[2]); err != nil {
				return err
			}
			continue
		}
		for _, field := range fields {
			if key, value, found := bytes.Cut(field, []byte("=")); found {
				if err := add(key, value); err != nil {
					return err
				}
			}
		}
	}
	for i, counter := range s.counters {
		out.put(subject, counter.metric, float64(sums[i])/counter.parts)
	}
	return nil
}

// seen leaves out the lists of members where version 1 shows none to a reader in another PID namespace, though some are.
func seen(sources []source, at place) []source {
	if members, err := read(at["memory"], "cgroup.procs"); err == nil && members != "" {
		return sources
	}
	return slices.DeleteFunc(sources, func(source source) bool { return source.members != "" })
}
