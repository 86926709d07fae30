package counters

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pageBytes is what the kernel gives of a file at once, at least.
const pageBytes = 4096

// A collector reads one interface of the kernel again and again. It keeps open what it reads often.
type collector interface {
	// read puts what there is now into a reading. An error says why there is nothing, or nothing any more.
	read(*reading) error
	close()
}

// series is what one number over time is called: a metric of a subject.
type series struct{ subject, metric string }

// point is one number of a reading.
type point struct {
	series
	value float64
}

// reading is what collectors read at one time. Its memory is used again for the next.
type reading struct {
	points []point
	text   []byte // contents of the last file
}

func (r *reading) put(subject, metric string, value float64) {
	r.points = append(r.points, point{series{subject, metric}, value})
}

// file reads an open file of the kernel from its beginning. The text is good until the next file is read.
func (r *reading) file(file *kernelFile) ([]byte, error) {
	for length := 0; ; {
		if len(r.text)-length < pageBytes {
			r.text = append(r.text, make([]byte, max(pageBytes, len(r.text)))...)
		}
		count, err := unix.Pread(file.descriptor, r.text[length:], int64(length))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		}
		// The kernel fills pages with whole lines, so what it gives before the end is more than half of one.
		if length += count; count < pageBytes/2 {
			return r.text[:length], nil
		}
	}
}

// number reads a file that holds one.
func (r *reading) number(file *kernelFile) (uint64, error) {
	text, err := r.file(file)
	if err != nil {
		return 0, err
	}
	return parseNumber(text)
}

func parseNumber(text []byte) (uint64, error) {
	return strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
}

// kernelFile is an open file of the kernel. It is leaner than an os.File, whose locks and poller are not needed here.
type kernelFile struct{ descriptor int }

func openFile(path string) (*kernelFile, error) {
	for {
		descriptor, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		switch err {
		case nil:
			return &kernelFile{descriptor}, nil
		case unix.EINTR:
		default:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// closeAll closes those that are there.
func closeAll(files ...*kernelFile) {
	for _, file := range files {
		if file != nil {
			_ = unix.Close(file.descriptor) // was only read
		}
	}
}
