package load

import (
	"math/bits"
	"sync/atomic"

	"loadstone.dev/stone/load/request"
)

// rendered is one rendered request.
type rendered struct {
	n        uint64
	at       int64 // intended send time, ns from the start
	op       int32 // its kind
	measured bool
	begins   *request.Compiled // a session, of which it is the first step
	session  *session          // the one that it is a later step of
	client   *client           // client of a closed loop whose turn it is
	delay    int64             // ns that a script puts before it
	data     []byte
}

// ring hands requests from the goroutine that renders them to one load thread: single producer, single
// consumer, bounded, and its buffers are used again, so memory stays flat however long the schedule is.
type ring struct {
	slots    []rendered
	mask     uint64
	wake     chan struct{} // the consumer says: half of the ring is free again; on demand: it needs a request
	onDemand bool          // nothing is made ahead
	err      error         // why no more requests could be made; for after the end

	_      [64]byte // head and tail are written by different threads: keep them on lines of their own
	head   atomic.Uint64
	known  uint64 // the tail as the consumer saw it last
	_      [64]byte
	tail   atomic.Uint64
	closed atomic.Bool
	_      [64]byte
}

const ringBytes = 8 << 20

const ringMost = 8192

// newRing makes a ring that holds so many requests, rounded down to a power of two; with 0, one that is made when it
// is needed.
func newRing(ahead int) *ring {
	size := 1 << (bits.Len(uint(min(max(ahead, 1), ringMost))) - 1)
	return &ring{slots: make([]rendered, size), mask: uint64(size - 1), wake: make(chan struct{}, 1), onDemand: ahead == 0}
}

// peek returns the oldest request, or nil if there is none (yet: see exhausted).
func (r *ring) peek() *rendered {
	head := r.head.Load()
	if head == r.known {
		if r.known = r.tail.Load(); head == r.known {
			return nil
		}
	}
	return &r.slots[head&r.mask]
}

// pop lets go of the request that peek returned: its data may be overwritten from now on.
func (r *ring) pop() {
	head := r.head.Load() + 1
	r.head.Store(head)
	if head&(r.mask>>1) == 0 && !r.onDemand { // every half ring
		r.call()
	}
}

// call wakes the producer.
func (r *ring) call() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// failure is why no more requests could be made, nil if there was no such reason.
func (r *ring) failure() error {
	if !r.closed.Load() {
		return nil
	}
	return r.err
}

// exhausted says that the whole share has been taken. Closed is read first: what was put in before is seen.
func (r *ring) exhausted() bool { return r.closed.Load() && r.peek() == nil }
