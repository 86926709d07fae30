// Package workers drives one load from several hosts. A coordinator gives each worker the plan with its part, begins the
// run on all of them at one time, stops them together and merges what they found (`stone load --workers`); a worker
// carries out one run at a time (`stone worker`). They speak JSON lines over TCP, proved by a common secret but not
// encrypted.
package workers

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"loadstone.dev/stone/load"
)

// version is that of the protocol; both sides must have the same.
const version = 1

// The kinds of messages, in the order in which they come.
const (
	hello    = "hello"    // worker: version and nonce
	proof    = "proof"    // coordinator: nonce, and proof that it knows the secret
	welcome  = "welcome"  // worker: proof that it knows it, too
	ping     = "ping"     // coordinator, as often as it likes
	pong     = "pong"     // worker: its clock
	plan     = "plan"     // coordinator: the plan of this part
	ready    = "ready"    // worker: all is connected; what it is about to do
	start    = "start"    // coordinator: when, by the worker's clock
	progress = "progress" // worker: a line of progress
	certain  = "certain"  // worker: violations so far
	abort    = "abort"    // coordinator: the violations of all are too many
	file     = "file"     // worker: a piece of a result
	done     = "done"     // worker: that was all
	failed   = "failed"   // worker: there will be no result, and why
	alive    = "alive"    // worker, every few seconds
)

// message is one line. Which fields it has depends on its kind.
type message struct {
	Kind       string          `json:"kind"`
	Version    int             `json:"version,omitempty"`
	Nonce      []byte          `json:"nonce,omitempty"`
	Proof      []byte          `json:"proof,omitempty"`
	UnixNs     int64           `json:"unix_ns,omitempty"`
	Plan       json.RawMessage `json:"plan,omitempty"`
	Identity   *load.Identity  `json:"identity,omitempty"`
	Planned    int64           `json:"planned,omitempty"`
	Progress   *load.Progress  `json:"progress,omitempty"`
	Violations int64           `json:"violations,omitempty"`
	Name       string          `json:"name,omitempty"`
	Data       []byte          `json:"data,omitempty"`
	Class      string          `json:"class,omitempty"` // of a failure: see failures.go
	Text       string          `json:"text,omitempty"`
}

const (
	aliveEvery = 5 * time.Second
	silence    = 30 * time.Second // a side that says nothing for so long is lost
	strangers  = 4 << 10          // the longest line of whoever has proved nothing
	longest    = 64 << 20         // the longest line: a plan with all its values
	piece      = 256 << 10        // of a file
)

// link is one side of a connection. Any goroutine may write, one may read.
type link struct {
	conn   net.Conn
	reader *bufio.Reader
	limit  int
	mutex  sync.Mutex
}

func newLink(conn net.Conn) *link {
	return &link{conn: conn, reader: bufio.NewReader(conn), limit: strangers}
}

// send writes a message. A peer that takes nothing for long is lost.
func (l *link) send(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(silence))
	_, err = l.conn.Write(append(line, '\n'))
	return err
}

var errLong = errors.New("a line is too long")

// receive reads a message, and waits for it as long as `patience`; for ever if that is 0.
func (l *link) receive(patience time.Duration) (message, error) {
	deadline := time.Time{}
	if patience > 0 {
		deadline = time.Now().Add(patience)
	}
	_ = l.conn.SetReadDeadline(deadline)
	var line []byte
	for {
		part, err := l.reader.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > l.limit {
			return message{}, errLong
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return message{}, lost(err, patience)
		}
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("not a message of a stone: %w", err)
	}
	return m, nil
}

// lost says in plain words how a connection ended.
func lost(err error, patience time.Duration) error {
	var network net.Error
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("lost: it closed the connection")
	case errors.As(err, &network) && network.Timeout():
		return fmt.Errorf("lost: it has said nothing for %s", patience)
	}
	return fmt.Errorf("lost: %w", err)
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
