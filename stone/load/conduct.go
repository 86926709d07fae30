package load

import (
	"context"
	"math"
	"time"

	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/result"
)

// Conductor is how a coordinator takes part in the run of one of several workers.
type Conductor struct {
	// Ready gets what the worker is about to do once all is connected and made ahead, and how many requests of the
	// window fall to it. It returns when to begin, by this host's clock. A start that is past when it returns is kept:
	// what was due by then goes out late, and is measured so.
	Ready func(id result.Identity, planned int64) (start time.Time, err error)
	// Certain gets, several times a second, how many requests can no longer hold the SLO, if the plan has abort.
	Certain func(violations int64)
	// Abort brings the violations of all workers together, once they are too many; 0 where a signal ends the run early.
	Abort <-chan int64
	// Mark gets the edges of the measured window, begin and end, of a loop that ends by its number of requests: only the
	// run itself can tell when they are. It does not wait.
	Mark func(edge string)
}

// certainEvery is how often Certain is called.
const certainEvery = 100 * time.Millisecond

// conductedBy puts a conductor in charge of when to begin and when to stop.
func (r *run) conductedBy(c *Conductor) error {
	switch {
	case c != nil:
		r.conductor = c
		if r.plan.Abort {
			r.control.allowed = math.MaxInt64 // the threads count, and do not decide
		}
	case r.plan.Abort && r.plan.part().Of > 1:
		return mistake.New("abort", "one of several workers does not know the violations of the others; leave it out, or let a "+
			"coordinator run them all (members)")
	}
	return nil
}

// conduct lets the coordinator see what the threads count, and stop them, until the function that it returns has.
func (r *run) conduct(ctx context.Context) (end func()) {
	if r.conductor == nil {
		return func() {}
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.relay(ctx)
	}()
	return func() { stop(); <-ended }
}

// watchEnough ends the run early where the plan's channel has something, until the function that it returns is called.
func (r *run) watchEnough() (stop func()) {
	ended := make(chan struct{})
	go func() {
		select {
		case <-r.plan.Enough:
			r.control.abort(r.clock.now(), 0)
		case <-ended:
		}
	}()
	return func() { close(ended) }
}

// relay goes on until ctx ends or all is to be stopped.
func (r *run) relay(ctx context.Context) {
	tick := time.NewTicker(certainEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case violations := <-r.conductor.Abort:
			r.control.abort(r.clock.now(), violations)
			return
		case <-tick.C:
			if r.plan.Abort {
				r.conductor.Certain(r.control.sum())
			}
		}
	}
}

// sum is how many violations are certain so far.
func (c *control) sum() int64 {
	total := int64(0)
	for i := range c.certain {
		total += c.certain[i].Load()
	}
	return total
}

// abort stops all threads; the first call decides.
func (c *control) abort(now, violations int64) {
	if c.aborted.CompareAndSwap(0, max(now, 1)) {
		c.violation.Store(violations)
	}
}
