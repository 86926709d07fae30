package groups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	members  = "cgroup.procs"
	makeMost = 100 // tries to make a folder whose parent another removes
)

// makeFolders makes a group's folder and those above it. Another who removes a group at the same moment may take an empty
// one above away again.
func makeFolders(folder string) error {
	var err error
	for range makeMost {
		if err = os.MkdirAll(folder, 0o755); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("cannot make a control group: %w", err)
	}
	return nil
}

// write a file of the kernel in one write, which is what it takes.
func write(folder, name, value string) error {
	file, err := os.OpenFile(filepath.Join(folder, name), os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteString(value)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Errorf("cannot limit a control group to %q: %w", strings.TrimSpace(value), err)
	}
	return nil
}

// read a file of the kernel; empty if it cannot be read.
func read(folder, name string) string {
	text, _ := os.ReadFile(filepath.Join(folder, name))
	return strings.TrimSpace(string(text))
}

func orMax(limit *int64) string {
	if limit == nil {
		return "max"
	}
	return strconv.FormatInt(*limit, 10)
}

// formatCores writes a list of cores as the kernel does: 0-2,5.
func formatCores(cores []int) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(cores)))
	var parts []string
	for i := 0; i < len(sorted); {
		last := i
		for last+1 < len(sorted) && sorted[last+1] == sorted[last]+1 {
			last++
		}
		part := strconv.Itoa(sorted[i])
		if last > i {
			part += "-" + strconv.Itoa(sorted[last])
		}
		parts, i = append(parts, part), last+1
	}
	return strings.Join(parts, ",")
}

func writable(folder string) bool { return unix.Access(folder, unix.W_OK) == nil }
