package reference

import (
	"context"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sampleEvery   = 150 * time.Millisecond
	sampleAnswers = 6 // timed in a sample: 50 us, so that a watch takes about 0.2 % of a core for it, most to wake up
	warmAnswers   = 1 // encoded before, for caches that other programs have filled meanwhile

	// mostSlower bounds a sample by the fastest so far: kernels that do not account for steal take the milliseconds of
	// a hypervisor, which hit few of them, for time on a processor.
	mostSlower = 4
)

// Sampler times a little of the work, 7 times a second, while other programs are at work. What counts is the time on
// a processor: waiting for one does not make a machine slower.
type Sampler struct {
	nanoseconds, samples atomic.Int64
	end                  context.CancelFunc
	ended                chan struct{}
}

// Sample begins, by a thread for which place chooses the processors.
func Sample(place func()) *Sampler {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sampler{end: cancel, ended: make(chan struct{})}
	go s.run(ctx, place)
	return s
}

// Total is the processor time of all samples so far, in seconds, and to how many chunks of Run they add up.
func (s *Sampler) Total() (seconds, loops float64) {
	loops = float64(s.samples.Load()) * sampleAnswers / answers
	return float64(s.nanoseconds.Load()) / 1e9, loops
}

// End stops; it returns when nothing runs any more.
func (s *Sampler) End() {
	s.end()
	<-s.ended
}

func (s *Sampler) run(ctx context.Context, place func()) {
	defer close(s.ended)
	runtime.LockOSThread() // and not unlocked: a thread that was placed ends with its goroutine
	place()
	work, fastest := newWork(), int64(math.MaxInt64/mostSlower)
	pause := unix.NsecToTimespec(int64(sampleEvery))
	for ctx.Err() == nil {
		_ = unix.Nanosleep(&pause, nil) // a timer of Go's would wake two more threads; one that is cut short does no harm
		work.do(warmAnswers)
		began := processorTime()
		work.do(sampleAnswers)
		spent := processorTime() - began
		fastest = min(fastest, spent)
		s.nanoseconds.Add(min(spent, mostSlower*fastest))
		s.samples.Add(1)
	}
}

// processorTime is what this thread has had of processors, in nanoseconds.
func processorTime() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now) // a clock that every Linux has
	return now.Nano()
}
