package load

import (
	"context"
	"sync/atomic"
)

// request is one rendered request of the schedule.
type request struct {
	n        uint64
	at       int64 // intended send time, ns from the start
	op       int32
	measured bool
	data     []byte
}

// ring hands requests from the goroutine that renders them to one load thread: single producer, single
// consumer, bounded, and its buffers are used again, so memory stays flat however long the schedule is.
type ring struct {
	slots []request
	mask  uint64
	wake  chan struct{} // the consumer says: half of the ring is free again

	_      [64]byte // head and tail are written by different threads: keep them on lines of their own
	head   atomic.Uint64
	known  uint64 // the tail as the consumer saw it last
	_      [64]byte
	tail   atomic.Uint64
	closed atomic.Bool
	_      [64]byte
}

const ringBytes = 8 << 20

// newRing sizes a ring for requests of up to `longest` bytes: 8 MB in all, but 16 to 8192 requests.
func newRing(longest int) *ring {
	size := 8192
	for size > 16 && size*longest > ringBytes {
		size /= 2
	}
	return &ring{slots: make([]request, size), mask: uint64(size - 1), wake: make(chan struct{}, 1)}
}

// fill renders a share of the schedule into the ring until it ends or ctx does, and calls ready once: when
// the ring is full or everything is in it.
func (r *ring) fill(ctx context.Context, requests share, m *mix, ready func()) {
	defer func() { r.closed.Store(true); ready() }()
	freed := uint64(0) // the head as seen last: looking takes its cache line away from the consumer
	for tail := uint64(0); requests.next(); tail++ {
		for tail-freed == uint64(len(r.slots)) {
			if freed = r.head.Load(); tail-freed < uint64(len(r.slots)) {
				break
			}
			ready()
			select {
			case <-r.wake:
			case <-ctx.Done():
				return
			}
		}
		slot := &r.slots[tail&r.mask]
		data, op := m.render(slot.data[:0], requests.n)
		*slot = request{requests.n, requests.at, int32(op), requests.schedule.measured(requests.at), data}
		r.tail.Store(tail + 1)
	}
}

// peek returns the oldest request, or nil if there is none (yet: see exhausted).
func (r *ring) peek() *request {
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
	if head&(r.mask>>1) == 0 { // every half ring
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// exhausted says that the whole share has been taken. Closed is read first: what was put in before is seen.
func (r *ring) exhausted() bool { return r.closed.Load() && r.peek() == nil }
