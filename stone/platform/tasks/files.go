package tasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"loadstone.dev/stone/platform/tracing"
)

var (
	// ErrFull: there is no room for a file; none is left half written.
	ErrFull = errors.New("the disk is full")
	// ErrContents: a file does not hold what was written to it.
	ErrContents = errors.New("a file holds something else than was written")
)

// LargeFile writes and reads back one large file for each request.
type LargeFile struct {
	folder  *Folder
	sync    bool
	text    []byte
	buffers sync.Pool // of *[]byte, one byte longer than the text
}

// NewLargeFile has files of so many bytes; with sync each is on the disk before it counts as written.
func NewLargeFile(folder *Folder, size int, sync bool) *LargeFile {
	l := &LargeFile{folder: folder, sync: sync, text: text(size)}
	l.buffers.New = func() any { buffer := make([]byte, size+1); return &buffer }
	return l
}

// Write writes a new file and returns its path, as LargeFileTask.write.
func (l *LargeFile) Write(ctx context.Context) (path string, err error) {
	path = l.folder.name(largePrefix)
	err = tracing.Do(ctx, "LargeFileTask.write", func() error {
		return problem("LargeFileTask.write", write(path, l.text, os.O_EXCL, l.sync))
	})
	return path, err
}

// Read reads a file back whole, as LargeFileTask.read, and compares its length and blocks of it.
func (l *LargeFile) Read(ctx context.Context, path string) error {
	buffer := l.buffers.Get().(*[]byte)
	defer l.buffers.Put(buffer)
	return tracing.Do(ctx, "LargeFileTask.read", func() error {
		n, err := read(path, *buffer)
		if err == nil && !alike((*buffer)[:n], l.text) {
			err = ErrContents
		}
		return problem("LargeFileTask.read", err)
	})
}

// SmallFile writes and reads one small file many times.
type SmallFile struct {
	folder *Folder
	rounds int
	text   []byte
}

// NewSmallFile has files of so many bytes.
func NewSmallFile(folder *Folder, rounds, size int) *SmallFile {
	return &SmallFile{folder, rounds, text(size)}
}

// Run writes a file and reads it, alternating and opening it anew each time, and returns its path, as SmallFileTask.run.
func (s *SmallFile) Run(ctx context.Context) (path string, err error) {
	path = s.folder.name(smallPrefix)
	err = tracing.Do(ctx, "SmallFileTask.run", func() error {
		buffer := make([]byte, len(s.text)+1)
		for range s.rounds {
			if err := write(path, s.text, os.O_TRUNC, false); err != nil {
				return problem("SmallFileTask.run", err)
			}
			n, err := read(path, buffer)
			if err == nil && !bytes.Equal(buffer[:n], s.text) {
				err = ErrContents
			}
			if err != nil {
				return problem("SmallFileTask.run", err)
			}
		}
		return nil
	})
	return path, err
}

// read reads a file into a buffer that is larger than the file should be.
func read(path string, buffer []byte) (int, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(file, buffer)
	if closing := file.Close(); err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = closing
	}
	return n, err
}

// compared blocks of this many bytes, from the first to the last, are a hundredth of the work of reading a large file.
const blocks, blockSize = 16, 4096

func alike(got, want []byte) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range blocks {
		from := (len(want) - min(blockSize, len(want))) / (blocks - 1) * i
		if i == blocks-1 {
			from = len(want) - min(blockSize, len(want))
		}
		if to := min(from+blockSize, len(want)); !bytes.Equal(got[from:to], want[from:to]) {
			return false
		}
	}
	return true
}

// text is so many bytes of lines, each of which says where it stands.
func text(size int) []byte {
	lines := make([]byte, 0, size+32)
	for len(lines) < size {
		lines = fmt.Appendf(lines, "line at byte %d of a text\n", len(lines))
	}
	return lines[:size:size]
}

// problem says which task failed, and marks that a disk is full.
func problem(task string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%s: %w: %w", task, ErrFull, err)
	}
	return fmt.Errorf("%s: %w", task, err)
}
