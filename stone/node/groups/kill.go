package groups

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/node/process"
)

const (
	goneWithin = 10 * time.Second
	lookEvery  = 10 * time.Millisecond
	openAtOnce = 256 // processes
)

// Exists says whether any part of a group is there.
func (k *Kernel) Exists(group string) bool {
	return slices.ContainsFunc(k.folders(group), func(folder string) bool {
		info, err := os.Stat(folder)
		return err == nil && info.IsDir()
	})
}

// Processes are the ids of all in a group and in those below it.
func (k *Kernel) Processes(group string) []int {
	var found []int
	for _, folder := range k.folders(group) {
		for _, below := range tree(folder) {
			for line := range strings.Lines(read(below, members)) {
				if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
					found = append(found, pid)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Kill everything in a group and below it; returns when nothing is left there. Until then it has no limit of processor
// time, which to end takes too, and nothing can be started in it: what starts others is otherwise faster than we are.
func (k *Kernel) Kill(ctx context.Context, group string) error {
	defer k.closed(group)()
	deadline := time.Now().Add(goneWithin)
	for {
		left := k.Processes(group)
		if len(left) == 0 {
			return nil
		}
		if !k.kill(group) {
			for some := range slices.Chunk(left, openAtOnce) {
				k.killEach(group, some)
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes of control group %s survive SIGKILL: %v", len(left), group, left[:min(len(left), 10)])
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// dying are the limits of a group of which all is killed.
var dying = map[string]string{"pids.max": "0", "cpu.cfs_quota_us": "-1", "cpu.max": "max"}

// closed sets the limits of a group, and of those below it, to those of the dying; the returned function undoes that.
func (k *Kernel) closed(group string) (open func()) {
	before := map[[2]string]string{}
	for _, folder := range k.folders(group) {
		for _, below := range tree(folder) {
			for file, limit := range dying {
				if was := read(below, file); was != "" && write(below, file, limit) == nil {
					before[[2]string{below, file}] = was
				}
			}
		}
	}
	return func() {
		for place, limit := range before {
			_ = write(place[0], place[1], limit) // it may be gone
		}
	}
}

// killEach kills processes that are still in a group: an id may be that of another by now.
func (k *Kernel) killEach(group string, pids []int) {
	opened := map[int]process.Handle{}
	for _, pid := range pids {
		if handle, err := process.OpenAny(pid); err == nil {
			opened[pid] = handle
		}
	}
	still := k.Processes(group)
	for pid, handle := range opened {
		if _, there := slices.BinarySearch(still, pid); there {
			_ = handle.Signal(unix.SIGKILL) // what survives is named
		}
		handle.Close()
	}
}

// Remove an empty group, those below it and those above it that hold nothing else, from every hierarchy: engines make
// those of containers in hierarchies without limits too. One that is not there is no error.
func (k *Kernel) Remove(ctx context.Context, group string) error {
	deadline := time.Now().Add(goneWithin)
	for _, point := range k.points {
		folder := filepath.Join(point, group)
		for _, below := range tree(folder) {
			if err := removeFolder(ctx, below, deadline); err != nil {
				return err
			}
		}
		above := folder
		for range strings.Count(group, "/") {
			above = filepath.Dir(above)
			_ = syscall.Rmdir(above) // others may have groups in it
		}
	}
	return nil
}

func removeFolder(ctx context.Context, folder string, deadline time.Time) error {
	for {
		err := syscall.Rmdir(folder)
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist):
			return nil
		case time.Now().After(deadline): // the kernel lets go of killed processes a little later
			return fmt.Errorf("control group %s cannot be removed: %w", folder, err)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(lookEvery):
		return nil
	}
}

// tree is all folders of a tree, the deepest first.
func tree(folder string) []string {
	var found []string
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() { // what is gone is not there
			found = append(found, path)
		}
		return nil
	})
	slices.Reverse(found)
	return found
}
