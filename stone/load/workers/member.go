package workers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"loadstone.dev/stone/load"
)

// member is one worker, as the coordinator has it.
type member struct {
	number  int
	address string
	folder  string // of its results
	link    *link
	ahead   time.Duration // its clock
	bound   time.Duration
	planned int64

	violations int64
	lines      []load.Progress // that are not printed yet
	last       load.Progress   // that was
	ended      bool
}

// prepare connects, compares clocks, and has the worker make everything ready.
func (m *member) prepare(ctx context.Context, c *crew, secret string, identity *load.Identity) error {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", m.address)
	if err != nil {
		return fmt.Errorf("%w: %w; is `stone worker` running there?", ErrUnavailable, err)
	}
	c.mutex.Lock()
	m.link = newLink(conn)
	c.mutex.Unlock()
	if ctx.Err() != nil { // it may have ended before the link was there to be closed
		_ = conn.Close()
	}
	if err := introduce(m.link, secret); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if m.ahead, m.bound, err = measure(m.link); err != nil {
		return err
	}
	part, err := c.part(m.number)
	if err != nil {
		return err
	}
	if err := m.link.send(message{Kind: plan, Plan: part}); err != nil {
		return err
	}
	answer, err := m.link.expect(ready, silence)
	if err != nil {
		return err
	}
	if answer.Identity == nil {
		return errors.New("ready for nothing; use one version of stone")
	}
	m.planned = answer.Planned
	difference, err := identity.Differs(answer.Identity)
	if err == nil && difference != "" {
		err = fmt.Errorf("it and the coordinator do not agree: %s", difference)
	}
	return err
}

// follow hears what the worker says until its results are here.
func (m *member) follow(c *crew) error {
	defer c.progressed(m, nil)
	var open *os.File
	defer func() {
		if open != nil {
			_ = open.Close()
		}
	}()
	for {
		said, err := m.link.receive(silence)
		if err != nil {
			return err
		}
		switch said.Kind {
		case alive:
		case progress:
			if said.Progress != nil {
				c.progressed(m, said.Progress)
			}
		case certain:
			c.violated(m, said.Violations)
		case file:
			if open, err = m.keep(open, said.Name, said.Data); err != nil {
				return err
			}
		case done:
			return nil
		case failed:
			return said.failure()
		default:
			return fmt.Errorf("%q was not expected; use one version of stone", said.Kind)
		}
	}
}

// keep writes a piece of a result. The first piece opens its file, an empty one closes it.
func (m *member) keep(open *os.File, name string, data []byte) (*os.File, error) {
	if !slices.Contains(files, name) {
		return open, fmt.Errorf("it sent a file %q that nobody asked for", name)
	}
	if open == nil {
		var err error
		if err = os.MkdirAll(m.folder, 0o755); err != nil {
			return nil, err
		}
		if open, err = os.Create(filepath.Join(m.folder, name)); err != nil {
			return nil, err
		}
	}
	if len(data) == 0 {
		return nil, open.Close()
	}
	_, err := open.Write(data)
	return open, err
}

// next takes the next line; of a worker that has ended, what it had counted.
func (m *member) next() load.Progress {
	if len(m.lines) == 0 {
		m.last.Latency, m.last.Lateness = nil, nil
		return m.last
	}
	m.last, m.lines = m.lines[0], m.lines[1:]
	return m.last
}
