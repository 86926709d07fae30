// Package tuning sets knobs of a host's kernel for a study and sets them back whatever ends it: snapshot, journal on the
// host's disk, set, verify; then restore, verify, forget. What a host was stands in its journal (tuning.json), so that
// after a kill any later process can restore it.
package tuning

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Host is a kernel, by the folders in which it shows itself.
type Host struct {
	Sys, Proc string
	kernel    kernel
}

// On is the kernel that shows itself in two folders: a real one's, wherever they are mounted, or a recorded tree.
func On(sys, proc string) Host {
	if isMounted(sys, unix.SYSFS_MAGIC) && isMounted(proc, unix.PROC_SUPER_MAGIC) {
		return Host{Sys: sys, Proc: proc, kernel: linux{}}
	}
	return Host{Sys: sys, Proc: proc, kernel: recorded{}}
}

func isMounted(folder string, kind int64) bool {
	var found unix.Statfs_t
	return unix.Statfs(folder, &found) == nil && int64(found.Type) == kind
}

// cpu is where the kernel shows its processors.
func (h Host) cpu(parts ...string) string {
	return filepath.Join(append([]string{h.Sys, "devices/system/cpu"}, parts...)...)
}

// boot is another one after each start of the machine.
func (h Host) boot() string {
	text, _ := h.read(filepath.Join(h.Proc, "sys/kernel/random/boot_id"))
	return text
}

// read is a file's text; false where there is none, or it does not answer, as of a processor that is off.
func (h Host) read(file string) (string, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD")), true
}

// number is a value that is a whole number.
func (h Host) number(file string) (int, bool) {
	text, _ := h.read(file)
	number, err := strconv.Atoi(text)
	return number, err == nil
}

// choices are the words of a file that lists them, in brackets or not.
func (h Host) choices(file string) []string {
	text, _ := h.read(file)
	return strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(text))
}

// answering are those files that can be read now: those of a processor that is off stay, but do not answer.
func (h Host) answering(files ...string) []string {
	return slices.DeleteFunc(files, func(file string) bool {
		_, ok := h.read(file)
		return !ok
	})
}

var digits = regexp.MustCompile(`\d+`)

// numbered is what a pattern finds, cpu10 after cpu9.
func numbered(parts ...string) []string {
	found, _ := filepath.Glob(filepath.Join(parts...)) // fails only if the pattern is bad
	numbers := func(path string) []int {
		var all []int
		for _, part := range digits.FindAllString(path, -1) {
			number, _ := strconv.Atoi(part)
			all = append(all, number)
		}
		return all
	}
	slices.SortFunc(found, func(a, b string) int { return slices.Compare(numbers(a), numbers(b)) })
	return found
}
