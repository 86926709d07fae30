package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mostTableBytes bounds the memory of one recording.
const mostTableBytes = 64 << 20

// recording reads a set at absolute times, a period apart, until it is ended or full.
type recording struct {
	period time.Duration
	most   int // bytes of its table

	end   context.CancelFunc
	ended chan struct{} // closed when nothing is read any more

	mu       sync.Mutex // of what follows, and of a reading that is being made
	set      set
	now      reading
	table    *table
	readings int
	skipped  int
	stopped  string // why it stopped by itself
	file     *chunks
}

// begin starts to read; the first reading is made at once, even if the recording ends before.
func begin(period time.Duration, set set, most int) *recording {
	ctx, cancel := context.WithCancel(context.Background())
	r := &recording{period: period, most: most, end: cancel, ended: make(chan struct{}), set: set, table: newTable()}
	go r.run(ctx)
	return r
}

// run makes the n-th reading n periods after the first, and a last one at the end. Those whose time has passed meanwhile
// are skipped.
func (r *recording) run(ctx context.Context) {
	defer close(r.ended)
	defer r.set.close()
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
func (r *recording) read() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := time.Now()
	r.set.read(&r.now)
	r.readings++
	err := r.table.add(at.UnixNano(), r.now.points)
	switch {
	case err != nil:
		r.stopped = err.Error()
	case r.table.size() > r.most:
		r.stopped = fmt.Sprintf("its %d MB of memory were full after %d readings", r.most>>20, r.readings)
	}
	return r.stopped == ""
}

func (r *recording) skip(ticks int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skipped += ticks
}

// replicas appends what the last reading said of replicas.
func (r *recording) replicas(points []point) []point {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, point := range r.now.points {
		if strings.HasPrefix(point.subject, "replica:") {
			points = append(points, point)
		}
	}
	return points
}

// close ends it and gives the file, the same one each time.
func (r *recording) close() (*chunks, error) {
	r.end()
	<-r.ended
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		return r.file, nil
	}
	metadata, err := r.metadata()
	if err == nil {
		r.file, err = r.table.end(metadata)
	}
	return r.file, err
}

func (r *recording) metadata() (map[string]string, error) {
	absent, err := json.Marshal(r.set.absent)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	metadata := map[string]string{
		"absent":    string(absent),
		"host":      host,
		"period_ms": strconv.FormatInt(r.period.Milliseconds(), 10),
		"readings":  strconv.Itoa(r.readings),
		"skipped":   strconv.Itoa(r.skipped),
	}
	if r.stopped != "" {
		metadata["stopped"] = r.stopped
	}
	return metadata, nil
}
