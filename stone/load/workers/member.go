package workers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"loadstone.dev/stone/load"
	"loadstone.dev/stone/load/result"
)

// member is one load worker, as the coordinator has it.
type member struct {
	load.Member
	number  int
	folder  string // where its results go
	link    *link
	process *process // nil: the link has none
	outbox  *outbox
	ahead   time.Duration // its clock
	bound   time.Duration
	planned int64
	before  float64 // ms of the reference loop on its machine
	after   float64

	violations int64
	lines      []result.Progress // that are not printed yet
	last       result.Progress   // that was
	ended      bool
	finished   bool // it has sent all that it was to send
}

// prepare starts the worker, compares clocks, and has it make everything ready.
func (m *member) prepare(ctx context.Context, c *crew, identity *result.Identity) error {
	if err := m.start(ctx, c); err != nil {
		return err
	}
	greeting, err := m.link.expect(hello, silence)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case greeting.Version != version:
		return fmt.Errorf("%w: it speaks version %d of the protocol, this stone speaks %d; use one version of stone",
			ErrUnavailable, greeting.Version, version)
	}
	if m.ahead, m.bound, err = measure(m.link); err != nil {
		return err
	}
	for _, path := range c.plan.Files() {
		if err := sendFile(m.link, path, path); err != nil {
			return err
		}
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
	m.planned, m.before = answer.Planned, answer.ReferenceMs
	difference, err := identity.Differs(answer.Identity)
	if err == nil && difference != "" {
		err = fmt.Errorf("it and the coordinator do not agree: %s", difference)
	}
	return err
}

// start runs the member's command.
func (m *member) start(ctx context.Context, c *crew) error {
	l, p, err := c.begin(m.Member, filepath.Join(m.folder, stderrFile))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	c.mutex.Lock()
	m.link, m.process, m.outbox = l, p, newOutbox(l)
	c.mutex.Unlock()
	if ctx.Err() != nil { // it may have ended before the link was there to be closed
		l.close()
	}
	return nil
}

// follow receives what the worker sends until its results are here.
func (m *member) follow(c *crew) error {
	defer c.progressed(m, nil)
	files := inbox{place: m.place}
	defer files.close()
	for {
		received, err := m.link.receive(silence)
		if err != nil {
			return err
		}
		switch received.Kind {
		case alive:
		case progress:
			if received.Progress != nil {
				c.progressed(m, received.Progress)
			}
		case certain:
			c.violated(m, received.Violations)
		case mark:
			c.marked(m, received.Name == "end")
		case file:
			if err := files.keep(received.Name, received.Data); err != nil {
				return err
			}
		case done:
			m.after = received.ReferenceMs
			return nil
		case failed:
			return received.failure()
		default:
			return fmt.Errorf("%q was not expected; use one version of stone", received.Kind)
		}
	}
}

// place says where a result goes.
func (m *member) place(name string) (string, error) {
	if !slices.Contains(results, name) {
		return "", fmt.Errorf("it sent a file %q, which is no result", name)
	}
	return filepath.Join(m.folder, name), nil
}

// leave closes the link, which ends the worker.
func (m *member) leave() {
	if m.link != nil {
		m.link.close()
		m.outbox.close()
	}
}

// summary is what the coordinator knows of the worker.
func (m *member) summary() result.WorkerSummary {
	us := func(d time.Duration) *float64 { return new(float64(d) / 1e3) }
	return result.WorkerSummary{
		Name: m.Name, ClockOffsetUs: us(m.ahead), ClockErrorUs: us(m.bound),
		ReferenceBeforeMs: &m.before, ReferenceAfterMs: &m.after,
	}
}

// next takes the next line; of a worker that has ended, what it had counted.
func (m *member) next() result.Progress {
	if len(m.lines) == 0 {
		m.last.Latency, m.last.Lateness = nil, nil
		return m.last
	}
	m.last, m.lines = m.lines[0], m.lines[1:]
	return m.last
}
