package load

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"loadstone.dev/stone/load/schedule"
)

// A million requests pass through in order and whole, in memory that does not depend on their number.
func TestMillionRequestsInFlatMemory(t *testing.T) {
	plan := parse(t, `{"target":"http://127.0.0.1:1","arrival":{"process":"poisson","rate":1000000},"warmup_s":0.25,
		"duration_s":0.875,"operations":[{"name":"a","path":"/{n}","fields":{"n":{"kind":"integer","min":0,"max":1000000}}}]}`)
	s, m := scheduleOf(t, plan), plan.mix()
	r := newRing(rendering{m}.ahead())
	var ready sync.WaitGroup
	ready.Add(1)
	var once sync.Once
	go r.fill(context.Background(), scheduled(s.Walk()), rendering{plan.mix()}, func() { once.Do(ready.Done) })
	ready.Wait()
	want, measured := s.Walk(), int64(0)
	var expected []byte
	for !r.exhausted() {
		request := r.peek()
		if request == nil {
			runtime.Gosched()
			continue
		}
		if !want.Next() || request.n != want.N || request.at != want.At {
			t.Fatalf("request %d at %d, want %d at %d", request.n, request.at, want.N, want.At)
		}
		expected, _ = m.Render(expected[:0], request.n)
		if string(request.data) != string(expected) {
			t.Fatalf("request %d is %q, want %q", request.n, request.data, expected)
		}
		if request.measured {
			measured++
		}
		r.pop()
	}
	if want.Next() || measured == 0 || want.N < 990_000 {
		t.Errorf("ended at request %d with %d measured", want.N, measured)
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
		return len(newRing(rendering{plan.mix()}.ahead()).slots)
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
	s := scheduleOf(t, plan)
	r := newRing(leastAhead)
	ctx, cancel := context.WithCancel(context.Background())
	full, done := make(chan bool, 1), make(chan bool)
	go func() {
		r.fill(ctx, scheduled(s.Walk()), rendering{plan.mix()}, func() {
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

func scheduleOf(t *testing.T, plan *Plan) schedule.Schedule {
	t.Helper()
	s, err := plan.schedule()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
