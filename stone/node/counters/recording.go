package counters

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// mostTableBytes bounds the memory of readings that were not taken yet.
const mostTableBytes = 64 << 20

// Recording reads a set at absolute times, a period apart, until it is ended or full.
type Recording struct {
	period time.Duration
	most   int // bytes of its table
	cores  []int

	end   context.CancelFunc
	ended chan struct{} // closed when nothing is read any more

	mu      sync.Mutex // guards what follows, and a reading in progress
	set     set
	now     reading
	table   *table
	summary Summary
}

// Summary is how a recording went.
type Summary struct {
	Rows     int               `json:"rows"`
	Readings int               `json:"readings"`
	Skipped  int               `json:"skipped"` // readings whose time had passed
	Absent   map[string]string `json:"absent"`  // why there is nothing, or nothing any more, by family
	Stopped  string            `json:"stopped"` // why it stopped by itself; empty if it did not
}

// Record begins a recording of what is there; absent says of what there is nothing, and why.
func (h *Host) Record(ctx context.Context, wanted Wanted) (r *Recording, absent map[string]string, err error) {
	all, err := h.open(ctx, wanted)
	if err != nil {
		return nil, nil, err
	}
	absent = maps.Clone(all.absent)
	return begin(wanted.period(), all, mostTableBytes, wanted.Cores), absent, nil
}

// Take gives what was read since the last Take as a whole Parquet file; nil if nothing was.
func (r *Recording) Take() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table.take()
}

// End makes a last reading and stops. What is left can be taken after it.
func (r *Recording) End() Summary {
	r.end()
	<-r.ended
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Absent = r.set.absent
	return r.summary
}

// begin starts to read, by a thread that runs on these cores (all, if none are given). The first reading is made at
// once, even if the recording ends before.
func begin(period time.Duration, set set, most int, cores []int) *Recording {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Recording{period: period, most: most, cores: cores, end: cancel, ended: make(chan struct{}), set: set, table: newTable()}
	go r.run(ctx)
	return r
}

// run makes the n-th reading n periods after the first, and a last one at the end. Those whose time has passed meanwhile
// are skipped.
func (r *Recording) run(ctx context.Context) {
	defer close(r.ended)
	defer r.set.close()
	keepTo(r.cores)
	begun := time.Now()
	for tick := 0; r.read(); {
		next := int(time.Since(begun)/r.period) + 1
		r.skip(next - tick - 1)
		tick = next
		select {
		case <-ctx.Done():
			r.read() // what happened since the reading before
			return
		case <-time.After(time.Until(begun.Add(time.Duration(tick) * r.period))):
		}
	}
}

// read makes one reading; false if it was the last that fits.
func (r *Recording) read() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := time.Now()
	r.set.read(&r.now)
	r.summary.Readings++
	r.summary.Rows += len(r.now.points)
	err := r.table.add(at.UnixNano(), r.now.points)
	switch {
	case err != nil:
		r.summary.Stopped = err.Error()
	case r.table.size() > r.most:
		r.summary.Stopped = fmt.Sprintf("its %d MB of memory were full after %d readings", r.most>>20, r.summary.Readings)
	}
	return r.summary.Stopped == ""
}

func (r *Recording) skip(ticks int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary.Skipped += ticks
}

// keepTo holds the calling goroutine to cores, by a thread of its own that ends with it.
func keepTo(cores []int) {
	if len(cores) == 0 {
		return
	}
	runtime.LockOSThread()
	set := unix.CPUSet{}
	for _, core := range cores {
		set.Set(core)
	}
	_ = unix.SchedSetaffinity(0, &set) // where it may not, readings are made on other cores
}
