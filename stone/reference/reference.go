// Package reference times work that is always the same, so that a machine whose speed changes is found out: by a
// neighbour on the same core or host, by heat, by a power budget, by a frequency governor.
package reference

import (
	"bytes"
	"encoding/json"
	"hash/crc64"
	"runtime"
	"slices"
	"strconv"
	"time"
)

const (
	chunks  = 15
	answers = 400 // encoded in a chunk: about 3 ms, twice as long on a core that is shared
)

type hotel struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Lat, Lon float64
	Rooms    []string `json:"rooms"`
}

// work encodes the same answer to JSON again and again.
//
// It is what services spend their time with: many instructions a cycle, branches and memory. A chain of dependent
// multiplications takes as long beside a busy neighbour on the core's other thread, where this takes twice as long.
type work struct {
	hotels  []hotel
	written bytes.Buffer
	encoder *json.Encoder
}

func newWork() *work {
	w := &work{}
	for n := range 20 {
		name := "Hotel " + strconv.Itoa(n)
		w.hotels = append(w.hotels, hotel{strconv.Itoa(n), name, 37.7 + float64(n)/100, -122.4, []string{"single", "double"}})
	}
	w.encoder = json.NewEncoder(&w.written)
	return w
}

// do encodes the answer that many times; the last is left in written.
func (w *work) do(times int) {
	for range times {
		w.written.Reset()
		_ = w.encoder.Encode(w.hotels) // to memory, of types that can be encoded: it cannot fail
	}
}

// Run returns how long chunks of the work took, in milliseconds, and the check sum of what it wrote.
func Run() (ms []float64, sum uint64) {
	runtime.LockOSThread() // wherever the scheduler of the kernel puts it, but all on one thread
	defer runtime.UnlockOSThread()
	work := newWork()
	table := crc64.MakeTable(crc64.ECMA)
	for range chunks {
		began := time.Now()
		work.do(answers)
		ms = append(ms, float64(time.Since(began).Nanoseconds())/1e6)
		sum = crc64.Update(sum, table, work.written.Bytes())
	}
	return ms, sum
}

// Time is the median of the chunks in milliseconds: a single preemption does not count, a lasting one does.
func Time() float64 {
	ms, _ := Run()
	slices.Sort(ms)
	return ms[len(ms)/2]
}
