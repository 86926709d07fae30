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

// Kill everything in a group and below it; returns when nothing is left there.
func (k *Kernel) Kill(ctx context.Context, group string) error {
	deadline := time.Now().Add(goneWithin)
	for {
		left := k.Processes(group)
		if len(left) == 0 {
			return nil
		}
		if !k.kill(group) {
			for _, pid := range left {
				handle, err := process.OpenIf(pid, func() bool { return slices.Contains(k.Processes(group), pid) })
				if err == nil {
					_ = handle.Signal(unix.SIGKILL) // who survives is named below
					handle.Close()
				}
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v of control group %s survive SIGKILL", left, group)
		}
		if err := pause(ctx); err != nil {
			return err
		}
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
