package tasks

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const largePrefix, smallPrefix = "large-", "small-"

// Folder is where one replica's files are. Files of tasks have a name that no other request has, also after a restart.
type Folder struct {
	path   string
	began  int64
	number atomic.Int64
}

// OpenFolder makes a folder, unless it is there, and finds out whether files can be written to it.
func OpenFolder(path string) (*Folder, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	probe, err := os.CreateTemp(path, smallPrefix)
	if err != nil {
		return nil, err
	}
	_ = probe.Close()
	return &Folder{path: path, began: time.Now().UnixNano()}, os.Remove(probe.Name())
}

// Free is how many bytes can still be written.
func (f *Folder) Free() (int64, error) {
	var stats unix.Statfs_t
	if err := unix.Statfs(f.path, &stats); err != nil {
		return 0, fmt.Errorf("free space in %s: %w", f.path, err)
	}
	return int64(stats.Bavail) * stats.Bsize, nil
}

// Require is an error unless so many bytes can still be written.
func (f *Folder) Require(bytes int64) error {
	free, err := f.Free()
	if err == nil && free < bytes {
		err = fmt.Errorf("%s has room for %d bytes, fewer than the %d that are needed; free some, or put it on a larger disk", f.path, free, bytes)
	}
	return err
}

// Clear removes all files of tasks, and nothing else, and returns how many those were.
func (f *Folder) Clear() (removed int, err error) {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasPrefix(name, largePrefix) && !strings.HasPrefix(name, smallPrefix) {
			continue
		}
		if err := os.Remove(filepath.Join(f.path, entry.Name())); err != nil && !os.IsNotExist(err) {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// name is the path of a new file.
func (f *Folder) name(prefix string) string {
	return filepath.Join(f.path, fmt.Sprintf("%s%x-%d", prefix, f.began, f.number.Add(1)))
}

// Remove removes a request's file, which may be gone.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// create opens a file for writing; a variable for tests.
var create = func(path string, flags int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(path, flags, mode)
}

// write writes a file as a whole, or leaves none.
func write(path string, content []byte, flags int, sync bool) error {
	file, err := create(path, os.O_WRONLY|os.O_CREATE|flags, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil && sync {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = Remove(path)
	}
	return err
}
