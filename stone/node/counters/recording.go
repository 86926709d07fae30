package counters

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mostTableBytes bounds the memory of one recording.
const mostTableBytes = 64 << 20

// Recording reads a set at absolute times, a period apart, until it is ended or full.
type Recording struct {
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

// Record begins a recording of what is there; absent says of what there is nothing, and why.
func (h *Host) Record(ctx context.Context, wanted Wanted) (r *Recording, absent map[string]string, err error) {
	all, err := h.open(ctx, wanted)
	if err != nil {
		return nil, nil, err
	}
	absent = maps.Clone(all.absent)
	return begin(wanted.period(), all, mostTableBytes), absent, nil
}

// Recorded is a recording that has ended. Its file is Parquet.
type Recorded struct {
	Rows     int               `json:"rows"`
	Readings int               `json:"readings"`
	Skipped  int               `json:"skipped"` // readings whose time had passed
	Absent   map[string]string `json:"absent"`  // why there is nothing, or nothing any more, by family
	Stopped  string            `json:"stopped"` // why it stopped by itself; empty if it did not
	Size     int               `json:"size"`
	File     io.WriterTo       `json:"-"`
}

// End ends a recording.
func (r *Recording) End() (Recorded, error) {
	file, err := r.close()
	if err != nil {
		return Recorded{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return Recorded{r.table.added, r.readings, r.skipped, r.set.absent, r.stopped, file.length, file}, nil
}

// Drop ends a recording of which nobody wants the file.
func (r *Recording) Drop() {
	r.end()
	<-r.ended
}

// begin starts to read; the first reading is made at once, even if the recording ends before.
func begin(period time.Duration, set set, most int) *Recording {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Recording{period: period, most: most, end: cancel, ended: make(chan struct{}), set: set, table: newTable()}
	go r.run(ctx)
	return r
}

// run makes the n-th reading n periods after the first, and a last one at the end. Those whose time has passed meanwhile
// are skipped.
func (r *Recording) run(ctx context.Context) {
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
func (r *Recording) read() bool {
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

func (r *Recording) skip(ticks int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skipped += ticks
}

// replicas appends what the last reading said of replicas.
func (r *Recording) replicas(points []point) []point {
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
func (r *Recording) close() (*chunks, error) {
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

func (r *Recording) metadata() (map[string]string, error) {
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
