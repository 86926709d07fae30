package counters

import (
	"bytes"
	"fmt"
	"slices"
)

// source is a file of a control group and what it counts: `key number` lines, one number (its key is empty), or as
// many lines as there are members.
type source struct {
	controller, file string
	counters         []counter
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

// seen leaves out the lists of members where version 1 shows none to a reader in another PID namespace, though some are.
func seen(sources []source, at place) []source {
	if members, err := read(at["memory"], "cgroup.procs"); err == nil && members != "" {
		return sources
	}
	return slices.DeleteFunc(sources, func(source source) bool { return source.members != "" })
}
