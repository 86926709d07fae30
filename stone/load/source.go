package load

import (
	"context"
	"errors"

	"loadstone.dev/stone/load/schedule"
)

// A source makes the requests of one thread, in the order of their numbers. Only one goroutine uses it.
type source interface {
	// make fills in the data, the kind and the delay of request r.n. It is not called again after errNoMore.
	make(r *rendered) error
	// ahead is how many requests may be made before the first of them is due; 0: each when it is needed.
	ahead() int
	// wanted takes the answers that the source wants to see; nil if it wants none.
	wanted() chan *answer
	// see takes one of them.
	see(*answer) error
}

var errNoMore = errors.New("no more requests")

// answer is a copy of what came back, for a script's response().
type answer struct {
	status     int
	head, body []byte
}

// numbering gives a thread's requests their numbers and times; false when there are no more.
type numbering func() (n uint64, at int64, measured, more bool)

// scheduled numbers the requests as the schedule says.
func scheduled(s schedule.Cursor) numbering {
	return func() (uint64, int64, bool, bool) {
		if !s.Next() {
			return 0, 0, false, false
		}
		return s.N, s.At, s.Schedule.Measured(s.At), true
	}
}

// unscheduled numbers the requests of closed-loop clients, which go out whenever one of them is free.
func unscheduled(thread, threads uint64) numbering {
	n := thread
	return func() (uint64, int64, bool, bool) {
		defer func() { n += threads }()
		return n, 0, false, true
	}
}

// source returns what makes the requests of a thread.
func (r *run) source(thread int) (source, error) {
	if r.plan.Script == nil {
		return rendering{r.plan.mix()}, nil
	}
	return r.script(thread)
}

// fill makes requests into the ring until there are no more or ctx ends, and calls ready once: when the ring is
// full, or everything is in it, or it waits for the first to be needed. A request that cannot be made ends it; the
// ring keeps the error.
func (r *ring) fill(ctx context.Context, next numbering, requests source, ready func()) {
	defer func() { r.closed.Store(true); ready() }()
	if err := r.make(ctx, next, requests, ready); err != errNoMore {
		r.err = err
	}
}

func (r *ring) make(ctx context.Context, next numbering, requests source, ready func()) error {
	answers := requests.wanted()
	freed := uint64(0) // the head as seen last: looking takes its cache line away from the consumer
	for tail := uint64(0); ; tail++ {
		n, at, measured, more := next()
		if !more {
			return nil
		}
		for needed := !r.onDemand; !needed || tail-freed == uint64(len(r.slots)); {
			if freed = r.head.Load(); needed && tail-freed < uint64(len(r.slots)) {
				break
			}
			ready()
			select {
			case <-r.wake:
				needed = true
			case a := <-answers:
				if err := requests.see(a); err != nil {
					return err
				}
			case <-ctx.Done():
				return nil
			}
		}
		for len(answers) > 0 { // what is known by now
			if err := requests.see(<-answers); err != nil {
				return err
			}
		}
		slot := &r.slots[tail&r.mask]
		*slot = rendered{n: n, at: at, measured: measured, data: slot.data[:0]}
		if err := requests.make(slot); err != nil {
			return err
		}
		r.tail.Store(tail + 1)
	}
}
