// Package workers drives one load from several hosts. A coordinator (`stone load` with a plan that has members) starts
// each load worker by a command, gives it the plan with its part and the files that the plan names, begins the run on all
// of them at one time, stops them together and merges what they found. A load worker (`stone load --member`) carries out
// one run and ends with its standard input. They exchange JSON lines over the worker's standard input and output: a
// user who may log in may drive it, and no port is open.
package workers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"loadstone.dev/stone/load/result"
)

// version is that of the protocol; both sides must have the same.
const version = 3

// The kinds of messages, in the order in which they come. Pieces of files go both ways: those that the plan names to
// the worker, results to the coordinator.
const (
	hello    = "hello"    // worker: version
	ping     = "ping"     // coordinator, as often as it likes
	pong     = "pong"     // worker: its clock
	file     = "file"     // a piece of a file
	plan     = "plan"     // coordinator: the plan of this part
	ready    = "ready"    // worker: all is connected; what it is about to do
	start    = "start"    // coordinator: when, by the worker's clock
	progress = "progress" // worker: a line of progress
	certain  = "certain"  // worker: violations so far
	mark     = "mark"     // worker: its window begins, or ends, by its number of requests
	abort    = "abort"    // coordinator: the violations of all are too many, or 0: a signal ends the run early
	done     = "done"     // worker: that was all
	failed   = "failed"   // worker: there will be no result, and why
	alive    = "alive"    // both, every few seconds
)

// message is one line. Which fields it has depends on its kind.
type message struct {
	Kind        string           `json:"kind"`
	Version     int              `json:"version,omitempty"`
	UnixNs      int64            `json:"unix_ns,omitempty"`
	Plan        json.RawMessage  `json:"plan,omitempty"`
	Identity    *result.Identity `json:"identity,omitempty"`
	Planned     int64            `json:"planned,omitempty"`
	ReferenceMs float64          `json:"reference_ms,omitempty"` // time of the reference loop, before and after the run
	Progress    *result.Progress `json:"progress,omitempty"`
	Violations  int64            `json:"violations,omitempty"`
	Name        string           `json:"name,omitempty"` // name of a file or of an edge
	Data        []byte           `json:"data,omitempty"`
	Class       string           `json:"class,omitempty"` // class of a failure: see failures.go
	Text        string           `json:"text,omitempty"`
}

const (
	aliveEvery = 5 * time.Second
	silence    = 30 * time.Second // a side that sends nothing for so long is lost
	longest    = 64 << 20         // the longest line: a plan with all its values
)

// link is one side of a connection. Any goroutine may write, one may read.
type link struct {
	out    io.WriteCloser
	mutex  sync.Mutex // guards out
	in     io.Closer
	read   chan received
	closed chan struct{}
	once   sync.Once
}

// received is what a line held.
type received struct {
	message message
	err     error
}

func newLink(in io.ReadCloser, out io.WriteCloser) *link {
	l := &link{out: out, in: in, read: make(chan received), closed: make(chan struct{})}
	go l.listen(bufio.NewReader(in))
	return l
}

// listen reads messages until the link ends.
func (l *link) listen(reader *bufio.Reader) {
	for {
		m, err := next(reader)
		select {
		case l.read <- received{m, err}:
		case <-l.closed:
			return
		}
		if err != nil {
			close(l.read)
			return
		}
	}
}

var errLong = errors.New("a line is too long")

// next reads one line.
func next(reader *bufio.Reader) (m message, err error) {
	var line []byte
	for {
		part, err := reader.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > longest {
			return m, errLong
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return m, ended(err)
		}
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return m, fmt.Errorf("not a message of a stone: %w", err)
	}
	return m, nil
}

// errEnded says that the other side has closed the link.
var errEnded = errors.New("lost: it closed the connection")

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return errEnded
	}
	return fmt.Errorf("lost: %w", err)
}

// close ends the link for both sides.
func (l *link) close() {
	l.once.Do(func() {
		close(l.closed)
		_ = l.out.Close()
		_ = l.in.Close()
	})
}

// send writes a message. A pipe whose reader takes nothing for long is lost.
func (l *link) send(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if pipe, able := l.out.(interface{ SetWriteDeadline(time.Time) error }); able {
		_ = pipe.SetWriteDeadline(time.Now().Add(silence))
	}
	if _, err = l.out.Write(append(line, '\n')); errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		return errEnded
	}
	return err
}

// receive returns the next message, and waits for it as long as `patience`.
func (l *link) receive(patience time.Duration) (message, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r, open := <-l.read:
		if !open {
			return message{}, errEnded
		}
		return r.message, r.err
	case <-l.closed:
		return message{}, errEnded
	case <-timer.C:
		return message{}, fmt.Errorf("lost: it has sent nothing for %s", patience)
	}
}

// expect reads messages of one kind; a failure that comes instead is returned as an error.
func (l *link) expect(kind string, patience time.Duration) (message, error) {
	for {
		m, err := l.receive(patience)
		switch {
		case err != nil:
			return m, err
		case m.Kind == kind:
			return m, nil
		case m.Kind == failed:
			return m, m.failure()
		case m.Kind != alive:
			return m, fmt.Errorf("expected %s, got %q; use one version of stone", kind, m.Kind)
		}
	}
}
