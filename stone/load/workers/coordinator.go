package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"loadstone.dev/stone/load"
	"loadstone.dev/stone/load/percentile"
	"loadstone.dev/stone/load/result"
)

const (
	lead       = 1500 * time.Millisecond // before the start, that the workers learn of it
	stderrFile = "stderr.txt"
)

// Run starts the members of a plan, has them carry it out together, and writes what one load worker would have written
// into the folder out, with the part of each in out/workers. It returns an error that names the member if one is lost or
// fails, or ctx's error if ctx ends first: then all are stopped, and there is no result. What comes from `enough` ends it
// early, with the results of what was sent until then. With `watch`, it writes a JSON line a second there, and one when the
// window begins and when it ends, as long as that is read.
func Run(
	ctx context.Context, text []byte, members []load.Member, enough <-chan os.Signal, out string, watch io.Writer,
) (*result.Summary, error) {
	return run(ctx, text, members, enough, out, watch, startCommand)
}

// starter starts a member's command, whose standard error goes into a file.
type starter func(m load.Member, stderr string) (*link, *process, error)

func run(
	ctx context.Context, text []byte, members []load.Member, enough <-chan os.Signal, out string, watch io.Writer, begin starter,
) (*result.Summary, error) {
	if watch != nil {
		feed := load.NewFeed(watch)
		defer feed.Close()
		watch = feed
	}
	c, err := newCrew(text, members, filepath.Join(out, "workers"), watch, begin)
	if err != nil {
		return nil, err
	}
	c.enough = enough
	ctx, c.cancel = context.WithCancelCause(ctx)
	defer c.cancel(nil)
	_ = os.RemoveAll(c.parts) // left by an earlier run
	if err := c.run(ctx); err != nil {
		_ = os.RemoveAll(c.parts)
		return nil, err
	}
	var folders []string
	var known []result.WorkerSummary
	for _, m := range c.members {
		folders = append(folders, m.folder)
		known = append(known, m.summary())
	}
	return result.Merge(out, folders, known)
}

// crew is the load workers of one run, as the coordinator has them.
type crew struct {
	text    []byte
	plan    *load.Plan
	members []*member
	parts   string // the folder of their results
	begin   starter
	cancel  context.CancelCauseFunc
	allowed int64            // violations of all together; -1: there is no early abort
	watch   io.Writer        // which never blocks
	enough  <-chan os.Signal // ends the run early

	mutex   sync.Mutex // guards the rest, the members' links and what they have sent
	aborted bool
	begun   bool // the window of a loop that ends by its number of requests
}

func newCrew(text []byte, members []load.Member, parts string, watch io.Writer, begin starter) (*crew, error) {
	c := &crew{text: text, parts: parts, allowed: -1, watch: watch, begin: begin}
	for number, m := range members {
		c.members = append(c.members, &member{Member: m, number: number, folder: filepath.Join(parts, fmt.Sprint(number))})
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
	if err := json.Unmarshal(c.text, &keys); err != nil {
		return nil, err
	}
	delete(keys, "members")
	keys["part"], _ = json.Marshal(result.Part{Number: number, Of: len(c.members)})
	if cpus := c.members[number].CPUs; len(cpus) > 0 {
		keys["cpus"], _ = json.Marshal(cpus)
	}
	return json.Marshal(keys)
}

// run sees the workers through from the first message to their last.
func (c *crew) run(ctx context.Context) (err error) {
	defer func() { err = c.end(err) }()
	stop := context.AfterFunc(ctx, c.leave) // a worker stops when its coordinator has gone
	defer stop()
	identity, err := c.plan.Identity()
	if err != nil {
		return err
	}
	if err := c.each(ctx, func(m *member) error { return m.prepare(ctx, c, &identity) }); err != nil {
		return err
	}
	c.allow()
	begin := time.Now().Add(lead)
	defer load.MarkWindow(c.plan, begin, c.watch)()
	defer c.watchEnough()()
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
				c.cancel(&memberError{m, err})
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// memberError says which member failed.
type memberError struct {
	member *member
	err    error
}

func (e *memberError) Error() string { return fmt.Sprintf("worker %s: %v", e.member.Name, e.err) }
func (e *memberError) Unwrap() error { return e.err }

func (c *crew) leave() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, m := range c.members {
		m.leave()
	}
}

// end waits until the commands of all members have ended. Where one was lost, how its command ended is the reason.
func (c *crew) end(err error) error {
	c.leave()
	var lost *memberError
	_ = errors.As(err, &lost)
	var all sync.WaitGroup
	for _, m := range c.members {
		if m.process == nil {
			continue
		}
		all.Go(func() {
			how := m.process.end()
			if lost != nil && lost.member == m && errors.Is(err, errEnded) {
				lost.err = commandEnded(lost.err, how)
			}
		})
	}
	all.Wait()
	return err
}

// commandEnded is why a member was lost whose command has ended.
func commandEnded(err error, how string) error {
	if errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%w: its command ended: %s", ErrUnavailable, how)
	}
	return fmt.Errorf("lost: its command ended: %s", how)
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
	if c.allowed >= 0 && sum > c.allowed {
		c.abort(sum)
	}
}

// abort stops all workers, once. The mutex is held.
func (c *crew) abort(violations int64) {
	if c.aborted {
		return
	}
	c.aborted = true
	for _, m := range c.members {
		go func() { _ = m.link.send(message{Kind: abort, Violations: violations}) }() // a worker that is lost is noticed elsewhere
	}
}

// watchEnough stops all workers early where the channel has something, until the function that it returns is called.
func (c *crew) watchEnough() (stop func()) {
	ended := make(chan struct{})
	go func() {
		select {
		case <-c.enough:
			c.mutex.Lock()
			defer c.mutex.Unlock()
			c.abort(0)
		case <-ended:
		}
	}()
	return func() { close(ended) }
}

// marked announces that the window begins with the first worker, and that it ends with the last.
func (c *crew) marked(m *member, end bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.watch == nil {
		return
	}
	if !c.begun {
		c.begun = true
		load.WriteMark("begin", time.Now(), c.watch)
	}
	m.finished = m.finished || end
	if !slices.ContainsFunc(c.members, func(each *member) bool { return !each.finished }) {
		load.WriteMark("end", time.Now(), c.watch)
	}
}

// progressed prints a line as soon as every worker that has not ended has one.
func (c *crew) progressed(m *member, line *result.Progress) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if line == nil {
		m.ended = true
	} else {
		m.lines = append(m.lines, *line)
	}
	for c.watch != nil && c.oneOfEach() {
		var now []result.Progress
		for _, m := range c.members {
			now = append(now, m.next())
		}
		merged := result.MergeProgress(now)
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
