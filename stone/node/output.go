package node

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
)

const (
	mostEventLineBytes = 64 << 10
	mostLinesWaiting   = 256 // for a client that reads slowly
)

// output keeps the end of what is written, and forwards its lines if a client follows.
type output struct {
	name string
	kept []byte
	cut  bool

	following bool
	line      []byte
	lines     *lines
}

func newOutput(name string, following bool) *output { return &output{name: name, following: following} }

// Write never blocks and never fails.
func (o *output) Write(text []byte) (int, error) {
	o.kept = append(o.kept, text...)
	if len(o.kept) > 2*mostOutputBytes { // now and then, not with every write
		o.kept = append(o.kept[:0], o.kept[len(o.kept)-mostOutputBytes:]...)
		o.cut = true
	}
	for rest := text; o.following && len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		room := max(mostEventLineBytes-len(o.line), 0)
		o.line = append(o.line, line[:min(room, len(line))]...)
		if whole {
			o.send()
		}
		rest = after
	}
	return len(text), nil
}

func (o *output) send() {
	o.lines.put(o.name, strings.ToValidUTF8(string(o.line), "\uFFFD"))
	o.line = o.line[:0]
}

// flush hands on a last line that has no newline.
func (o *output) flush() {
	if len(o.line) > 0 {
		o.send()
	}
}

// end is the last of what was written.
func (o *output) end() []byte {
	if over := len(o.kept) - mostOutputBytes; over > 0 {
		o.cut = true
		return o.kept[over:]
	}
	return o.kept
}

// lines are sent as events while a command runs. What the client does not read in time is dropped, so that the command
// never waits for it.
type lines struct {
	waiting chan map[string]string
	dropped atomic.Int64
	sent    chan struct{}
}

// follow sends the lines of outputs, if wanted.
func follow(c *call, wanted bool, outputs ...*output) *lines {
	l := &lines{waiting: make(chan map[string]string, mostLinesWaiting), sent: make(chan struct{})}
	for _, output := range outputs {
		output.lines = l
	}
	if !wanted {
		close(l.sent)
		return l
	}
	go func() {
		defer close(l.sent)
		for line := range l.waiting {
			if c.event(line, nil) != nil {
				l.dropped.Add(1)
			}
		}
	}()
	return l
}

func (l *lines) put(name, text string) {
	select {
	case l.waiting <- map[string]string{name: text}:
	default:
		l.dropped.Add(1)
	}
}

// finish sends what waits and gives the number of lines that were dropped.
func (l *lines) finish(ctx context.Context) int {
	close(l.waiting)
	select {
	case <-l.sent:
	case <-ctx.Done(): // the reader is gone
	}
	return int(l.dropped.Load())
}
