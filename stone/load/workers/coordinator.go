package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"loadstone.dev/stone/load"
	"loadstone.dev/stone/load/percentile"
)

// lead is how long before the start the workers are told of it.
const lead = 1500 * time.Millisecond

// Run has the workers at these addresses carry out a plan together, and writes what one worker would have written into
// the folder out, with the part of each in out/workers. It returns an error that names the worker if one is lost or
// fails, or ctx's error if ctx ends first: then all are stopped, and there is no result. With `watch`, it writes a JSON
// line a second there, as long as that is read.
func Run(ctx context.Context, text []byte, addresses []string, secret, out string, watch io.Writer) (*load.Summary, error) {
	if watch != nil {
		feed := load.NewFeed(watch)
		defer feed.Close()
		watch = feed
	}
	c, err := newCrew(text, addresses, filepath.Join(out, "workers"), watch)
	if err != nil {
		return nil, err
	}
	ctx, c.cancel = context.WithCancelCause(ctx)
	defer c.cancel(nil)
	_ = os.RemoveAll(c.parts) // of an earlier run
	if err := c.run(ctx, secret); err != nil {
		_ = os.RemoveAll(c.parts)
		return nil, err
	}
	var folders []string
	var known []load.WorkerSummary
	for _, m := range c.members {
		folders = append(folders, m.folder)
		known = append(known, load.WorkerSummary{Address: m.address, ClockOffsetUs: us(m.ahead), ClockErrorUs: us(m.bound)})
	}
	return load.Merge(out, folders, known)
}

func us(d time.Duration) *float64 { return new(float64(d) / 1e3) }

// crew is the workers of one run, as the coordinator has them.
type crew struct {
	text    []byte
	plan    *load.Plan
	members []*member
	parts   string // the folder of their results
	cancel  context.CancelCauseFunc
	allowed int64     // violations of all together; -1: there is no early abort
	watch   io.Writer // which never blocks

	mutex   sync.Mutex // of the rest, and of what the members have said
	aborted bool
}

func newCrew(text []byte, addresses []string, parts string, watch io.Writer) (*crew, error) {
	c := &crew{text: text, parts: parts, allowed: -1, watch: watch}
	for number, address := range addresses {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return nil, &load.PlanError{Key: "worker", Problem: fmt.Sprintf("%q is not HOST:PORT", address)}
		}
		if slices.Contains(addresses[:number], address) {
			return nil, &load.PlanError{Key: "worker", Problem: address + " is named twice"}
		}
		c.members = append(c.members, &member{number: number, address: address, folder: filepath.Join(parts, fmt.Sprint(number))})
	}
	part, err := c.part(0)
	if err != nil {
		return nil, err
	}
	c.plan, err = load.ParsePlan(part)
	return c, err
}

// part is the plan of one worker.
func (c *crew) part(number int) (json.RawMessage, error) {
	keys := map[string]json.RawMessage{}
	if json.Unmarshal(c.text, &keys) != nil {
		_, err := load.ParsePlan(c.text) // which says what is wrong, and where
		return nil, err
	}
	for _, key := range []string{"part", "start_unix_ns"} {
		if _, given := keys[key]; given {
			return nil, &load.PlanError{Key: key, Problem: "is for workers without a coordinator; leave it out"}
		}
	}
	keys["part"], _ = json.Marshal(load.Part{Number: number, Of: len(c.members)})
	return json.Marshal(keys)
}

// run sees the workers through from the first word to their last.
func (c *crew) run(ctx context.Context, secret string) error {
	defer c.leave()
	stop := context.AfterFunc(ctx, c.leave) // a worker stops when its coordinator has gone
	defer stop()
	identity, err := c.plan.Identity()
	if err != nil {
		return err
	}
	if err := c.each(ctx, func(m *member) error { return m.prepare(ctx, c, secret, &identity) }); err != nil {
		return err
	}
	c.allow()
	begin := time.Now().Add(lead)
	return c.each(ctx, func(m *member) error {
		if err := m.link.send(message{Kind: start, UnixNs: begin.Add(m.ahead).UnixNano()}); err != nil {
			return err
		}
		return m.follow(c)
	})
}

// each does something with all workers at the same time. The first that fails ends it for all.
func (c *crew) each(ctx context.Context, do func(*member) error) error {
	var all sync.WaitGroup
	for _, m := range c.members {
		all.Go(func() {
			if err := do(m); err != nil {
				c.cancel(fmt.Errorf("worker %s: %w", m.address, err))
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func (c *crew) leave() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, m := range c.members {
		if m.link != nil {
			_ = m.link.conn.Close()
		}
	}
}

// allow works out how many violations there may be.
func (c *crew) allow() {
	if !c.plan.Abort {
		return
	}
	planned := int64(0)
	for _, m := range c.members {
		planned += m.planned
	}
	c.allowed = planned - percentile.Rank(c.plan.SLO.Percentile, planned)
}

// violated notes how many violations a worker has, and stops all once they are too many together.
func (c *crew) violated(m *member, violations int64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	m.violations = violations
	sum := int64(0)
	for _, m := range c.members {
		sum += m.violations
	}
	if c.allowed < 0 || sum <= c.allowed || c.aborted {
		return
	}
	c.aborted = true
	for _, m := range c.members {
		go func() { _ = m.link.send(message{Kind: abort, Violations: sum}) }() // a worker that is lost is noticed elsewhere
	}
}

// progressed prints a line as soon as every worker that has not ended has one.
func (c *crew) progressed(m *member, line *load.Progress) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if line == nil {
		m.ended = true
	} else {
		m.lines = append(m.lines, *line)
	}
	for c.watch != nil && c.oneOfEach() {
		var now []load.Progress
		for _, m := range c.members {
			now = append(now, m.next())
		}
		merged := load.MergeProgress(now)
		_ = merged.Write(c.watch)
	}
}

// oneOfEach says whether every worker that has not ended has a line, and some worker has.
func (c *crew) oneOfEach() bool {
	some := false
	for _, m := range c.members {
		if len(m.lines) == 0 && !m.ended {
			return false
		}
		some = some || len(m.lines) > 0
	}
	return some
}
