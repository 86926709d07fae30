package agent

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

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

// reading is what collectors told at one time. Its memory is used again for the next.
type reading struct {
	points []point
	text   []byte // of the file that was read last
}

func (r *reading) put(subject, metric string, value float64) {
	r.points = append(r.points, point{series{subject, metric}, value})
}

// file reads an open file of the kernel from its beginning. The text is good until the next file is read.
func (r *reading) file(file *os.File) ([]byte, error) {
	for length := 0; ; {
		if length == len(r.text) {
			r.text = append(r.text, make([]byte, max(4096, len(r.text)))...)
		}
		count, err := file.ReadAt(r.text[length:], int64(length))
		length += count
		switch {
		case err == io.EOF:
			return r.text[:length], nil
		case err != nil:
			return nil, err
		}
	}
}

// number reads a file that holds one.
func (r *reading) number(file *os.File) (uint64, error) {
	text, err := r.file(file)
	if err != nil {
		return 0, err
	}
	return parseNumber(text)
}

func parseNumber(text []byte) (uint64, error) {
	return strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
}

// openFile opens a file of the kernel without the poller, which has nothing to tell of it.
func openFile(path string) (*os.File, error) {
	for {
		number, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		switch err {
		case nil:
			return os.NewFile(uintptr(number), path), nil
		case syscall.EINTR:
		default:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

func closeAll(files ...*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close() // was only read
		}
	}
}
