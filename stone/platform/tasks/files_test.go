package tasks

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func open(t *testing.T, path string) *Folder {
	t.Helper()
	folder, err := OpenFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestLargeFilesAreWrittenAndReadBack(t *testing.T) {
	folder := open(t, filepath.Join(t.TempDir(), "made", "here"))
	for _, size := range []int{1, 4095, 4096, 100_000, 2_400_000} {
		large := NewLargeFile(folder, size, size == 4096)
		first, err := large.Write(t.Context())
		second, again := large.Write(t.Context())
		if err != nil || again != nil || first == second {
			t.Fatal(first, second, err, again)
		}
		held, err := os.ReadFile(first)
		if err != nil || !bytes.Equal(held, text(size)) || len(held) != size {
			t.Fatalf("%d bytes of %d: %v", len(held), size, err)
		}
		for _, path := range []string{first, second, first} {
			if err := large.Read(t.Context(), path); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(Remove(first), Remove(first)); err != nil {
			t.Error(err)
		}
		if err := large.Read(t.Context(), first); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	}
}

func TestAnotherContentIsSeen(t *testing.T) {
	large := NewLargeFile(open(t, t.TempDir()), 100_000, false)
	path, err := large.Write(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	whole := text(100_000)
	for name, held := range map[string][]byte{
		"first byte": append([]byte("X"), whole[1:]...), "last byte": append(whole[:99_999:99_999], 'X'),
		"shorter": whole[:99_999], "longer": append(whole[:100_000:100_000], 'X'), "empty": nil,
	} {
		if err := os.WriteFile(path, held, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := large.Read(t.Context(), path); !errors.Is(err, ErrContents) || !strings.HasPrefix(err.Error(), "LargeFileTask.read: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSmallFilesAreOpenedAnewEachTime(t *testing.T) {
	opened := counting(t)
	small := NewSmallFile(open(t, t.TempDir()), 10, 140)
	path, err := small.Run(t.Context())
	if err != nil || *opened != 10 {
		t.Fatal(*opened, err)
	}
	if held, _ := os.ReadFile(path); !bytes.Equal(held, text(140)) {
		t.Errorf("%q", held)
	}
}

func counting(t *testing.T) *int {
	opened, before := new(int), create
	create = func(path string, flags int, mode fs.FileMode) (*os.File, error) {
		*opened++
		return before(path, flags, mode)
	}
	t.Cleanup(func() { create = before })
	return opened
}

// The kernel's own full disk.
func TestAFullDiskIsAnErrorOfItsOwn(t *testing.T) {
	before := create
	create = func(string, int, fs.FileMode) (*os.File, error) { return os.OpenFile("/dev/full", os.O_WRONLY, 0) }
	t.Cleanup(func() { create = before })
	folder := open(t, t.TempDir())
	if _, err := NewLargeFile(folder, 10_000, false).Write(t.Context()); !errors.Is(err, ErrFull) || !strings.HasPrefix(err.Error(), "LargeFileTask.write: the disk is full") {
		t.Error(err)
	}
	if _, err := NewSmallFile(folder, 10, 140).Run(t.Context()); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

// On a file system of a megabyte, nothing is left half written and the room is free again.
func TestNothingIsLeftHalfWritten(t *testing.T) {
	path := t.TempDir()
	if err := unix.Mount("none", path, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("needs root to make a small file system: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	folder := open(t, path)
	free, err := folder.Free()
	if err != nil || free > 1<<20 || folder.Require(free) != nil {
		t.Fatal(free, err)
	}
	if err := folder.Require(free + 1); err == nil || !strings.Contains(err.Error(), "larger disk") {
		t.Error(err)
	}
	if _, err := NewLargeFile(folder, 2_400_000, false).Write(t.Context()); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if _, err := NewLargeFile(folder, 600_000, false).Write(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := NewLargeFile(folder, 600_000, false).Write(t.Context()); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(path); len(left) != 1 {
		t.Error(left)
	}
}

func TestOnlyFilesOfTasksAreCleared(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	folder := open(t, path)
	large, small := NewLargeFile(folder, 1000, false), NewSmallFile(folder, 2, 10)
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			_, err := large.Write(t.Context())
			_, again := small.Run(t.Context())
			if err := errors.Join(err, again); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if removed, err := folder.Clear(); removed != 10 || err != nil {
		t.Error(removed, err)
	}
	if left, _ := os.ReadDir(path); len(left) != 1 || left[0].Name() != "notes.txt" {
		t.Error(left)
	}
}

func TestAFolderThatCannotBeWrittenTo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFolder(file); err == nil {
		t.Error("a file is no folder")
	}
}
