package load

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// A million requests pass through in order and whole, in memory that does not depend on their number.
func TestMillionRequestsInFlatMemory(t *testing.T) {
	plan := parse(t, `{"target":"http://127.0.0.1:1","arrival":{"process":"poisson","rate":1000000},"warmup_s":0.25,
		"duration_s":0.875,"operations":[{"name":"a","path":"/{n}","fields":{"n":{"kind":"integer","min":0,"max":1000000}}}]}`)
	s, m := scheduleOf(plan), newMix(plan)
	r := newRing(m.ahead())
	var ready sync.WaitGroup
	ready.Add(1)
	var once sync.Once
	go r.fill(context.Background(), scheduled(s.walk()), newMix(plan), func() { once.Do(ready.Done) })
	ready.Wait()
	want, measured := s.walk(), int64(0)
	var expected []byte
	for !r.exhausted() {
		request := r.peek()
		if request == nil {
			runtime.Gosched()
			continue
		}
		if !want.next() || request.n != want.n || request.at != want.at {
			t.Fatalf("request %d at %d, want %d at %d", request.n, request.at, want.n, want.at)
		}
		expected, _ = rendered(t, m, expected[:0], request.n)
		if string(request.data) != string(expected) {
			t.Fatalf("request %d is %q, want %q", request.n, request.data, expected)
		}
		if request.measured {
			measured++
		}
		r.pop()
	}
	if want.next() || measured != s.planned() || want.n < 990_000 {
		t.Errorf("ended at request %d with %d measured, planned %d", want.n, measured, s.planned())
	}
	held := 0
	for i := range r.slots {
		held += cap(r.slots[i].data)
	}
	if held > ringBytes {
		t.Errorf("the ring holds %d bytes", held)
	}
}

func TestRingIsBoundedByBytes(t *testing.T) {
	slots := func(body int) int {
		plan := parse(t, strings.Replace(minimal, `"path"`, `"body":"`+strings.Repeat("x", body)+`","path"`, 1))
		return len(newRing(newMix(plan).ahead()).slots)
	}
	if n := slots(100); n != ringMost {
		t.Errorf("%d slots for small requests", n)
	}
	if n := slots(100_000); n*100_000 > ringBytes || n < leastAhead {
		t.Errorf("%d slots for requests of 100 kB", n)
	}
	if n := slots(2 * ringBytes); n != leastAhead {
		t.Errorf("%d slots for huge requests", n)
	}
}

func TestRenderingStopsWithItsContext(t *testing.T) {
	plan := parse(t, minimal)
	plan.Arrival.Rate = 1e6
	s := scheduleOf(plan)
	r := newRing(leastAhead)
	ctx, cancel := context.WithCancel(context.Background())
	full, done := make(chan bool, 1), make(chan bool)
	go func() {
		r.fill(ctx, scheduled(s.walk()), newMix(plan), func() {
			select {
			case full <- true:
			default:
			}
		})
		close(done)
	}()
	<-full
	cancel()
	<-done
}
