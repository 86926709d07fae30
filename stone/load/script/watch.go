package script

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
)

// watch ends a call into Lua that runs for too long or takes too much memory. The Lua state checks its context before
// every instruction whether it is done; answering by counting down costs a few nanoseconds, and no timer or goroutine
// is needed. Library functions whose work depends on a script, such as matching patterns, count their steps too.
type watch struct {
	context.Context
	limit  time.Duration
	memory uint64

	countdown int // instructions until the next look at the clock
	started   time.Time
	nextHeap  time.Time
	heap      uint64 // the heap's size early in the call, 0 before it was read
	failure   error
}

const (
	lookEvery = 1024 // instructions
	heapEvery = 20 * time.Millisecond
)

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// begin starts the count of a call. Its clock starts at the first look, so that short calls never read one.
func (w *watch) begin() {
	w.countdown, w.started, w.heap, w.failure = lookEvery, time.Time{}, 0, nil
}

// spend brings the next look nearer: bytes that one instruction made.
func (w *watch) spend(bytes int) { w.countdown -= bytes >> 12 }

// Done is closed when the call is to end. Nil, which blocks for ever, means that it may go on.
func (w *watch) Done() <-chan struct{} {
	if w.countdown--; w.countdown > 0 {
		return nil
	}
	return w.look()
}

func (w *watch) look() <-chan struct{} {
	if w.failure != nil {
		return closed
	}
	now := time.Now()
	switch {
	case w.started.IsZero():
		w.started, w.nextHeap = now, now.Add(heapEvery)
	case now.Sub(w.started) > w.limit:
		w.failure = fmt.Errorf("ran for more than %s", seconds(w.limit))
		return closed
	case now.After(w.nextHeap):
		w.nextHeap = now.Add(heapEvery)
		if w.heapGrew() {
			w.failure = fmt.Errorf("needs more than %d MiB of memory", w.memory>>20)
			return closed
		}
	}
	w.countdown = lookEvery
	return nil
}

// heapGrew says whether the process's heap, garbage aside, grew by more than the limit during this call.
func (w *watch) heapGrew() bool {
	size := heapSize()
	if w.heap == 0 {
		w.heap = size
	}
	if size < w.heap+w.memory {
		return false
	}
	runtime.GC()
	return heapSize() > w.heap+w.memory
}

func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Err is what Lua's error says when Done is closed.
func (w *watch) Err() error {
	if w.failure == nil {
		return errors.New("not done")
	}
	return w.failure
}

func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }
