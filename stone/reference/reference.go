// Package reference times a computation that is always the same, so that a machine whose speed changes is found out:
// by a neighbour on the same core or host, by heat, by a power budget, by a frequency governor.
package reference

import (
	"runtime"
	"slices"
	"time"
)

const (
	chunks = 15
	steps  = 2_000_000 // of a chunk: about 4 ms at 3 GHz
)

// Run does the work once and returns how long its chunks took, in milliseconds, and the check sum of what it computed.
//
// Each step needs the result of the one before, so it takes as long as the processor takes for a multiplication, a shift
// and an addition, whatever caches and memory do.
func Run() (ms []float64, sum uint64) {
	runtime.LockOSThread() // wherever the scheduler of the kernel puts it, but all on one thread
	defer runtime.UnlockOSThread()
	x := uint64(0x9e3779b97f4a7c15)
	for range chunks {
		began := time.Now()
		for range steps {
			x = (x^x>>29)*0xbf58476d1ce4e5b9 + 1
		}
		ms = append(ms, float64(time.Since(began).Nanoseconds())/1e6)
	}
	return ms, x
}

// Time is the median of the chunks in milliseconds: a single preemption does not count, a lasting one does.
func Time() float64 {
	ms, _ := Run()
	slices.Sort(ms)
	return ms[len(ms)/2]
}
