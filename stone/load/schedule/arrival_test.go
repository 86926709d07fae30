package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"loadstone.dev/stone/load/mistake"
)

// parseArrival reads and checks an arrival.
func parseArrival(text string, duration float64) (a Arrival, err error) {
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return a, err
	}
	return a, a.Check(duration)
}

func scheduleFor(t *testing.T, arrival string, warmup, duration float64, seed uint64) Schedule {
	t.Helper()
	a, err := parseArrival(arrival, duration)
	if err != nil {
		t.Fatalf("%v in %s", err, arrival)
	}
	s, err := New(&a, warmup, duration, seed)
	if err != nil {
		t.Fatalf("%v in %s", err, arrival)
	}
	return s
}

func TestMistakesInArrivals(t *testing.T) {
	shape := func(phases string) string { return `{"process":"poisson","rate":10,"shape":[` + phases + `]}` }
	for _, c := range []struct{ arrival, key, says string }{
		{`{"rate":10}`, "arrival.process", "constant, poisson, zipf, on-off, mmpp or replay"},
		{`{"process":"pareto","rate":10}`, "arrival.process", `"pareto" is not known`},
		{`{"process":"poisson"}`, "arrival.rate", "more than 0"},
		{`{"process":"poisson","rate":1e8}`, "arrival.rate", "at most 1e+07"},
		{`{"process":"poisson","rate":10,"n":3}`, "arrival.n", "zipf and not of poisson"},
		{`{"process":"poisson","rate":10,"alpha":3}`, "arrival.alpha", "zipf and not of poisson"},
		{`{"process":"mmpp","rate":10,"on_s":3}`, "arrival.on_s", "on-off and not of mmpp"},
		{`{"process":"mmpp","rate":10,"off_s":3}`, "arrival.off_s", "on-off and not of mmpp"},
		{`{"process":"on-off","rate":10,"states":[]}`, "arrival.states", "mmpp and not of on-off"},
		{`{"process":"zipf","rate":10,"file":"x"}`, "arrival.file", "replay and not of zipf"},
		{`{"process":"zipf","rate":10,"column":"x"}`, "arrival.column", "replay and not of zipf"},
		{`{"process":"zipf","rate":10,"speed":1}`, "arrival.speed", "replay and not of zipf"},
		{`{"process":"replay","file":"x","shape":[]}`, "arrival.shape", "leave it out"},
		{`{"process":"zipf","rate":10,"n":0}`, "arrival.n", "0 is out of range"},
		{`{"process":"zipf","rate":10,"alpha":-1}`, "arrival.alpha", "at least 0"},
		{`{"process":"on-off","rate":10,"on_s":1}`, "arrival", "needs on_s and off_s"},
		{`{"process":"on-off","rate":10,"on_s":0,"off_s":1}`, "arrival.on_s", "at least 0.001"},
		{`{"process":"on-off","rate":10,"on_s":1,"off_s":-1}`, "arrival.off_s", "at least 0.001"},
		{`{"process":"mmpp","rate":10}`, "arrival.states", "at least two"},
		{`{"process":"mmpp","rate":10,"states":[{"factor":1,"dwell_s":1}]}`, "arrival.states", "1 given"},
		{`{"process":"mmpp","rate":10,"states":[{"factor":0,"dwell_s":1},{"dwell_s":1}]}`, "arrival.states", "every factor is 0"},
		{`{"process":"mmpp","rate":10,"states":[{"factor":1,"dwell_s":1},{"factor":-1,"dwell_s":1}]}`, "arrival.states[1].factor", "at least 0"},
		{`{"process":"mmpp","rate":10,"states":[{"factor":1},{"factor":2,"dwell_s":1}]}`, "arrival.states[0].dwell_s", "at least 0.001"},
		{`{"process":"replay","rate":10}`, "arrival.file", "CSV or Parquet"},
		{`{"process":"replay","file":"x","rate":10,"speed":2}`, "arrival.speed", "leave one out"},
		{`{"process":"replay","file":"x","speed":0}`, "arrival.speed", "more than 0"},
		{`{"process":"replay","file":"x","rate":-1}`, "arrival.rate", "more than 0"},
		{shape(``), "arrival.shape", "0 s together, and duration_s is 10"},
		{shape(`{"for_s":4,"rate":1},{"for_s":5,"rate":2}`), "arrival.shape", "9 s together, and duration_s is 10"},
		{shape(`{"for_s":4,"rate":0},{"for_s":6,"from":0,"to":0}`), "arrival.shape", "0 all the time"},
		{shape(`{"for_s":-1,"rate":1}`), "arrival.shape[0].for_s", "more than 0"},
		{shape(`{"rate":1}`), "arrival.shape[0].for_s", "more than 0"},
		{shape(`{"for_s":10}`), "arrival.shape[0]", "only for_s; give rate"},
		{shape(`{"for_s":4,"rate":1},{"for_s":6,"from":1}`), "arrival.shape[1]", "has from; give"},
		{shape(`{"for_s":10,"rate":1,"to":2}`), "arrival.shape[0]", "has rate, to; give"},
		{shape(`{"for_s":10,"mean":1,"amplitude":0.5}`), "arrival.shape[0]", "has mean, amplitude; give"},
		{shape(`{"for_s":10,"rate":-1}`), "arrival.shape[0].rate", "at least 0"},
		{shape(`{"for_s":10,"from":1,"to":-1}`), "arrival.shape[0].to", "at least 0"},
		{shape(`{"for_s":10,"mean":0,"amplitude":0,"period_s":1}`), "arrival.shape[0].mean", "at least 1e-06"},
		{shape(`{"for_s":10,"mean":1,"amplitude":2,"period_s":1}`), "arrival.shape[0].amplitude", "more than the mean, 1"},
		{shape(`{"for_s":10,"mean":1,"amplitude":-2,"period_s":1}`), "arrival.shape[0].amplitude", "more than the mean, 1"},
		{shape(`{"for_s":10,"mean":1,"amplitude":1,"period_s":0}`), "arrival.shape[0].period_s", "at least 0.001"},
		{strings.Replace(shape(`{"for_s":10,"from":0,"to":1e6}`), "10", "1000", 1), "arrival.shape[0]", "more than 1e+07 requests/s"},
	} {
		_, err := parseArrival(c.arrival, 10)
		var mistake *mistake.Error
		if !errors.As(err, &mistake) || mistake.Key != c.key || !strings.Contains(mistake.Problem, c.says) {
			t.Errorf("got %q, want key %q and %q, for %s", err, c.key, c.says, c.arrival)
		}
	}
}

// everyProcess has a plan's arrival for each process and for each kind of phase, for windows of 3 s.
var everyProcess = []string{
	`{"process":"constant","rate":1000}`,
	`{"process":"poisson","rate":1000}`,
	`{"process":"zipf","rate":1000}`,
	`{"process":"on-off","rate":1000,"on_s":0.1,"off_s":0.2}`,
	`{"process":"mmpp","rate":1000,"states":[{"factor":1,"dwell_s":0.2},{"factor":0,"dwell_s":0.1},{"factor":4,"dwell_s":0.1}]}`,
	`{"process":"poisson","rate":1000,"shape":[{"for_s":1,"from":0.5,"to":2},{"for_s":0.5,"rate":0},{"for_s":1.5,"mean":1,"amplitude":1,"period_s":0.4}]}`,
	`{"process":"on-off","rate":1000,"on_s":0.1,"off_s":0.2,"shape":[{"for_s":3,"from":2,"to":0}]}`,
}

func TestEveryScheduleIsOrderedAndDecidedByItsSeed(t *testing.T) {
	for _, arrival := range everyProcess {
		s, other := scheduleFor(t, arrival, 0.5, 3, 5), times(scheduleFor(t, arrival, 0.5, 3, 6))
		at, again := times(s), times(scheduleFor(t, arrival, 0.5, 3, 5))
		if len(at) < 500 || fmt.Sprint(at) != fmt.Sprint(again) {
			t.Errorf("%s: %d and %d requests of the same seed differ", arrival, len(at), len(again))
		}
		if random := !strings.Contains(arrival, "constant"); (fmt.Sprint(at) == fmt.Sprint(other)) == random {
			t.Errorf("%s: another seed, equal times: %v", arrival, random)
		}
		last := int64(0)
		for i, have := range at {
			if have < last || have >= s.To {
				t.Fatalf("%s: request %d at %d, after one at %d; the end is %d", arrival, i, have, last, s.To)
			}
			last = have
		}
	}
}

func TestACopiedCursorWalksOnItsOwn(t *testing.T) {
	for _, arrival := range everyProcess {
		s := scheduleFor(t, arrival, 0.5, 3, 5)
		want := times(s)
		first := s.Walk()
		for range 300 {
			first.Next()
		}
		second := first
		for i := 300; i < len(want); i++ {
			if !first.Next() || first.At != want[i] || first.N != uint64(i) {
				t.Fatalf("%s: request %d at %d, want %d", arrival, first.N, first.At, want[i])
			}
		}
		for i := 300; i < len(want); i++ {
			if !second.Next() || second.At != want[i] {
				t.Fatalf("%s: the copy's request %d at %d, want %d", arrival, second.N, second.At, want[i])
			}
		}
	}
}

// Several workers divide a schedule as threads do: worker w of 2 with 3 threads has the shares 3w to 3w+2 of 6.
func TestWorkersAndThreadsShareEverySchedule(t *testing.T) {
	for _, arrival := range everyProcess {
		s := scheduleFor(t, arrival, 0.5, 3, 5)
		want, have := times(s), map[uint64]int64{}
		for thread := range uint64(6) {
			for part := s.Share(thread, 6); part.Next(); {
				have[part.N] = part.At
			}
		}
		for i, at := range want {
			if have[uint64(i)] != at {
				t.Fatalf("%s: request %d at %d, want %d", arrival, i, have[uint64(i)], at)
			}
		}
		if len(have) != len(want) {
			t.Errorf("%s: %d requests in all shares, want %d", arrival, len(have), len(want))
		}
	}
}

func TestZipfGapsHaveTheirProbabilities(t *testing.T) {
	const rate, duration = 20_000.0, 5.0
	at := times(scheduleFor(t, `{"process":"zipf","rate":20000,"n":20,"alpha":1.5}`, 0, duration, 3))
	total, units := 0.0, 0.0
	for k := 1.0; k <= 20; k++ {
		total += math.Pow(k, -1.5)
		units += math.Pow(k, -0.5)
	}
	unit := total / units / rate * 1e9
	var seen [21]float64
	previous := int64(0)
	for _, now := range at {
		k := math.Round(float64(now-previous) / unit)
		if off := math.Abs(float64(now-previous) - k*unit); k < 1 || k > 20 || off > 1 {
			t.Fatalf("a gap of %d ns is not 1 to 20 units of %g ns", now-previous, unit)
		}
		seen[int(k)]++
		previous = now
	}
	n, chi := float64(len(at)), 0.0
	for k := 1.0; k <= 20; k++ {
		want := n * math.Pow(k, -1.5) / total
		chi += (seen[int(k)] - want) * (seen[int(k)] - want) / want
	}
	if chi > 43.8 { // the 0.1 % point for 19 degrees of freedom
		t.Errorf("chi squared of the gaps is %.1f", chi)
	}
	if math.Abs(n-rate*duration) > 0.02*rate*duration {
		t.Errorf("%g requests in %g s at %g/s", n, duration, rate)
	}
}
