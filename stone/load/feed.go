package load

import (
	"io"
	"time"
)

// Feed passes lines on to a reader that may be slow, stop, or go away. What it does not read in time is dropped: nothing
// ever waits for it, except Close for a second.
type Feed struct {
	lines chan []byte
	ended chan struct{}
}

const (
	feedLines    = 16
	feedPatience = time.Second
)

// NewFeed starts passing on what is written to it; `to` may block, and after an error nothing more goes there.
func NewFeed(to io.Writer) *Feed {
	f := &Feed{lines: make(chan []byte, feedLines), ended: make(chan struct{})}
	go f.run(to)
	return f
}

func (f *Feed) run(to io.Writer) {
	defer close(f.ended)
	gone := false
	for line := range f.lines {
		if !gone {
			_, err := to.Write(line)
			gone = err != nil
		}
	}
}

// Write takes a line, or drops it.
func (f *Feed) Write(line []byte) (int, error) {
	select {
	case f.lines <- append([]byte(nil), line...):
	default:
	}
	return len(line), nil
}

// Close lets the reader have the last lines, if it takes them. Nothing may be written after it.
func (f *Feed) Close() {
	close(f.lines)
	select {
	case <-f.ended:
	case <-time.After(feedPatience):
	}
}
