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

// Run encodes the same answer to JSON again and again, and returns how long its chunks took, in milliseconds, and the
// check sum of what it wrote.
//
// It is what services spend their time with: many instructions a cycle, branches and memory. A chain of dependent
// multiplications takes as long beside a busy neighbour on the core's other thread, where this takes twice as long.
func Run() (ms []float64, sum uint64) {
	runtime.LockOSThread() // wherever the scheduler of the kernel puts it, but all on one thread
	defer runtime.UnlockOSThread()
	var hotels []hotel
	for n := range 20 {
		name := "Hotel " + strconv.Itoa(n)
		hotels = append(hotels, hotel{strconv.Itoa(n), name, 37.7 + float64(n)/100, -122.4, []string{"single", "double"}})
	}
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	table := crc64.MakeTable(crc64.ECMA)
	for range chunks {
		began := time.Now()
		for range answers {
			written.Reset()
			_ = encoder.Encode(hotels) // to memory, of types that can be encoded: it cannot fail
		}
		ms = append(ms, float64(time.Since(began).Nanoseconds())/1e6)
		sum = crc64.Update(sum, table, written.Bytes())
	}
	return ms, sum
}

// Time is the median of the chunks in milliseconds: a single preemption does not count, a lasting one does.
func Time() float64 {
	ms, _ := Run()
	slices.Sort(ms)
	return ms[len(ms)/2]
}
