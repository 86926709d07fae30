// Package uniqueid makes ids that tell posts, users and reviews apart without asking a store.
package uniqueid

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"
)

// An id is published as 16 hexadecimal digits: 3 of the machine, 10 of the milliseconds since the epoch (enough until
// 2052), 3 of a counter; its highest bit is cleared.
const (
	counterBits = 12
	timeBits    = 40
	machineBits = 11
)

var epoch = time.Date(2018, 1, 1, 0, 0, 0, 0, time.UTC)

// Generator gives ids, each greater than the one before. Safe for concurrent use.
type Generator struct {
	machine int64        // already in its place
	last    atomic.Int64 // milliseconds and counter of the last id
	now     func() time.Time
}

// New makes a generator. What tells it from others is hashed to 11 bits: the identity (of a host, say), process, time
// of its start and a random number, so that a process that starts anew does not repeat its predecessor's ids either.
func New(identity string) *Generator {
	hash := fnv.New64a()
	_, _ = fmt.Fprintln(hash, identity, os.Getpid(), time.Now().UnixNano(), rand.Uint64()) // a hash takes all
	return newAt(hash.Sum64(), time.Now)
}

func newAt(machine uint64, now func() time.Time) *Generator {
	return &Generator{machine: int64(machine%(1<<machineBits)) << (timeBits + counterBits), now: now}
}

// Next returns an id of 63 bits. Where the clock stands or goes back, and where a millisecond's 4,096 ids are used up,
// it counts on from the last id: ids then run ahead of the clock until it has caught up.
func (g *Generator) Next() int64 {
	for {
		last := g.last.Load()
		next := max(last+1, g.now().Sub(epoch).Milliseconds()<<counterBits)
		if g.last.CompareAndSwap(last, next) {
			return g.machine | next
		}
	}
}
