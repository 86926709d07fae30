package tuning

import (
	"path/filepath"
	"slices"
	"strings"
)

// hugePages are transparent huge pages.
type hugePages struct{ plain }

func (hugePages) about() traits {
	return traits{key: "thp", needs: "transparent huge pages (/sys/kernel/mm/transparent_hugepage)"}
}

func (hugePages) wants(tuning Tuning) bool { return tuning.THP != "" }

func (hugePages) files(h Host) ([]string, bool) {
	return has(h.answering(filepath.Join(h.Sys, "kernel/mm/transparent_hugepage/enabled")))
}

func (p hugePages) offers(h Host) string {
	files, _ := p.files(h)
	return strings.Join(h.choices(files[0]), ", ")
}

func (p hugePages) values(h Host, tuning Tuning) ([]value, error) {
	files, _ := p.files(h)
	if !slices.Contains(h.choices(files[0]), tuning.THP) {
		return nil, refused("choose one of: "+p.offers(h), "%s: does not know '%s'", files[0], tuning.THP)
	}
	return each(files, tuning.THP), nil
}

// read is the word in brackets of "always [madvise] never".
func (hugePages) read(h Host, file string) (string, bool) {
	text, _ := h.read(file)
	_, after, _ := strings.Cut(text, "[")
	chosen, _, closed := strings.Cut(after, "]")
	return chosen, closed
}

// numaBalancing is memory that moves to the node which uses it.
type numaBalancing struct{ plain }

func (numaBalancing) about() traits {
	return traits{key: "numa_balancing", needs: "NUMA balancing (/proc/sys/kernel/numa_balancing)"}
}

func (numaBalancing) wants(tuning Tuning) bool { return tuning.NUMABalancing != "" }

func (numaBalancing) files(h Host) ([]string, bool) {
	return has(h.answering(filepath.Join(h.Proc, "sys/kernel/numa_balancing")))
}

func (numaBalancing) offers(Host) string { return "on, off" }

func (n numaBalancing) values(h Host, tuning Tuning) ([]value, error) {
	files, _ := n.files(h)
	if tuning.NUMABalancing == "on" {
		return each(files, "1"), nil
	}
	return each(files, "0"), nil
}
