package uniqueid

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// clock is a time that tests set.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func hex(id int64) string { return fmt.Sprintf("%016x", id) }

func TestAnIDIsMachineMillisecondsCounter(t *testing.T) {
	clock := &clock{epoch.Add(0x123456789a * time.Millisecond)}
	ids := newAt(0xfabc, clock.now)
	for i, want := range []string{"2bc123456789a000", "2bc123456789a001", "2bc123456789a002"} {
		if got := hex(ids.Next()); got != want {
			t.Errorf("id %d is %s, want %s", i, got, want)
		}
	}
	clock.Time = clock.Add(time.Millisecond)
	if got := hex(ids.Next()); got != "2bc123456789b000" {
		t.Errorf("the first of the next millisecond is %s", got)
	}
}

func TestNoIDRepeatsWhateverTheClockDoes(t *testing.T) {
	clock := &clock{epoch.Add(time.Hour)}
	ids := newAt(1, clock.now)
	last := ids.Next()
	for _, step := range []time.Duration{0, -time.Minute, -100 * 365 * 24 * time.Hour, time.Millisecond, 101 * 365 * 24 * time.Hour} {
		clock.Time = clock.Add(step)
		for range 10_000 { // more than a millisecond has
			next := ids.Next()
			if next <= last {
				t.Fatalf("clock at %s: %s after %s", clock, hex(next), hex(last))
			}
			last = next
		}
	}
}

func TestIDsAreUnique(t *testing.T) {
	ids := New("test")
	const askers, each = 8, 5000
	var mutex sync.Mutex
	var group sync.WaitGroup
	seen := make(map[int64]bool)
	for range askers {
		group.Go(func() {
			mine := make([]int64, each)
			for i := range mine {
				mine[i] = ids.Next()
			}
			mutex.Lock()
			defer mutex.Unlock()
			for _, id := range mine {
				seen[id] = true
			}
		})
	}
	group.Wait()
	if len(seen) != askers*each {
		t.Errorf("%d different ids of %d", len(seen), askers*each)
	}
	for id := range seen {
		if id <= 0 {
			t.Fatalf("%d is not a positive number of 63 bits", id)
		}
	}
}

func TestGeneratorsOfTheSameNameDiffer(t *testing.T) {
	machines := make(map[int64]bool)
	for range 50 {
		machines[New("same").machine] = true
	}
	if len(machines) < 40 { // all but a few of 2048, save for a probability that no test ever sees
		t.Errorf("50 generators have %d machine parts", len(machines))
	}
}
