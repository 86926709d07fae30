package schedule

import (
	"fmt"
	"math"
	"sort"
	"testing"
)

func makeSchedule(process string, rate, warmup, duration float64, seed uint64) Schedule {
	s, err := New(&Arrival{Process: process, Rate: rate}, warmup, duration, seed)
	if err != nil {
		panic(err)
	}
	return s
}

func times(s Schedule) (at []int64) {
	c := s.Walk()
	for c.Next() {
		at = append(at, c.At)
	}
	return at
}

// A rate whose period is no whole number of microseconds must not be rounded to one, nor drift.
func TestConstantRateIsNotRounded(t *testing.T) {
	for _, rate := range []float64{0.5, 3, 300_000, 700_001} {
		at := times(makeSchedule("constant", rate, 0, 4, 1))
		if want := int(math.Ceil(rate * 4)); len(at) != want {
			t.Errorf("%g/s for 4 s: %d requests, want %d", rate, len(at), want)
		}
		for i, have := range at {
			if want := int64(float64(i) / rate * 1e9); have < want-1 || have > want+1 {
				t.Fatalf("%g/s: request %d is due at %d ns, want %d", rate, i, have, want)
			}
		}
	}
}

// Kolmogorov-Smirnov distance of the gaps from the exponential distribution: no clumps at any scale.
func TestPoissonGapsAreExponential(t *testing.T) {
	const rate = 50_000.0
	at := times(makeSchedule("poisson", rate, 0, 2, 11))
	if n := float64(len(at)); math.Abs(n-2*rate) > 4*math.Sqrt(2*rate) {
		t.Errorf("%g requests, want about %g", n, 2*rate)
	}
	gaps, previous := make([]float64, len(at)), int64(0)
	for i := range at {
		gaps[i], previous = float64(at[i]-previous)/1e9, at[i]
	}
	for i := range gaps {
		gaps[i] *= rate
	}
	if distance, limit := exponentialDistance(gaps), 1.95/math.Sqrt(float64(len(gaps))); distance > limit { // the 0.1 % point
		t.Errorf("KS distance %.5f, limit %.5f", distance, limit)
	}
}

// exponentialDistance is the Kolmogorov-Smirnov distance from the exponential distribution of mean 1.
func exponentialDistance(gaps []float64) (distance float64) {
	sort.Float64s(gaps)
	n := float64(len(gaps))
	for i, gap := range gaps {
		expected := 1 - math.Exp(-gap)
		distance = max(distance, math.Abs(expected-float64(i)/n), math.Abs(expected-float64(i+1)/n))
	}
	return distance
}

func TestSeedDecidesTheSchedule(t *testing.T) {
	a, b := times(makeSchedule("poisson", 1000, 1, 1, 5)), times(makeSchedule("poisson", 1000, 1, 1, 5))
	other := times(makeSchedule("poisson", 1000, 1, 1, 6))
	if len(a) != len(b) || len(a) < 1000 {
		t.Fatalf("%d and %d requests", len(a), len(b))
	}
	same := 0
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("request %d: %d and %d", i, a[i], b[i])
		}
		if i < len(other) && a[i] == other[i] {
			same++
		}
	}
	if same > 3 {
		t.Errorf("another seed gives %d equal times", same)
	}
}

func TestSharesAreTogetherTheSchedule(t *testing.T) {
	s := makeSchedule("poisson", 1000, 0.5, 1, 3)
	want := times(s)
	for _, threads := range []uint64{1, 3, 8} {
		have := make([]int64, len(want))
		for thread := range threads {
			part := s.Share(thread, threads)
			for part.Next() {
				if have[part.N] != 0 {
					t.Fatalf("request %d is in two shares", part.N)
				}
				have[part.N] = part.At
			}
		}
		for i := range want {
			if have[i] != want[i] {
				t.Fatalf("%d threads: request %d at %d, want %d", threads, i, have[i], want[i])
			}
		}
	}
}

func TestArrivalsCountByTime(t *testing.T) {
	s := makeSchedule("poisson", 1000, 0.5, 1, 3)
	a := Arrivals{Cursor: s.Walk(), From: s.From}
	for _, until := range []int64{0, 400e6, 500e6, 777e6, 777e6, 1400e6, 9e9, 10e9} {
		want := int64(0)
		for _, at := range times(s) {
			if at >= s.From && at <= until {
				want++
			}
		}
		if have := a.Until(until); have != want {
			t.Errorf("until %d: %d, want %d", until, have, want)
		}
	}
	if have, want := a.Until(11e9), int64(len(measuredTimes(s))); have != want {
		t.Errorf("at the end %d, want %d", have, want)
	}
}

func TestTheWarmupGrowsEvenlyToTheWholeRate(t *testing.T) {
	for _, process := range []string{"constant", "poisson"} {
		s := makeSchedule(process, 10000, 4, 4, 7)
		var seconds [8]int
		for c := s.Walk(); c.Next(); {
			seconds[c.At/1e9]++
		}
		for i, want := range [8]float64{1250, 3750, 6250, 8750, 10000, 10000, 10000, 10000} {
			// Five standard deviations of a Poisson count.
			if math.Abs(float64(seconds[i])-want) > 5*math.Sqrt(want) {
				t.Errorf("%s: %d requests in second %d, want about %.0f", process, seconds[i], i, want)
			}
		}
	}
}

// countingProcess counts its calls.
type countingProcess struct {
	process
	calls *int
}

func (p countingProcess) due(c *Cursor, n uint64) float64 {
	*p.calls++
	return p.process.due(c, n)
}

// A thousandth of a schedule costs what a thousandth of its requests cost, and so does to count the whole.
func TestAShareIsWalkedAlone(t *testing.T) {
	for _, process := range []string{"constant", "poisson"} {
		s, calls := makeSchedule(process, 1e6, 0.5, 1, 3), 0
		s.process = countingProcess{s.process, &calls}
		requests := 0
		for part := s.Share(7, 1000); part.Next(); requests++ {
			if part.N%1000 != 7 {
				t.Fatalf("request %d is in the share of 7", part.N)
			}
		}
		if requests < 1000 || calls != requests+1 {
			t.Errorf("%s: %d requests, %d were looked at", process, requests, calls)
		}
		calls = 0
		if span := s.Span(); span.Count < 1_200_000 || calls > 4000 {
			t.Errorf("%s: counting %+v looks at %d requests", process, span, calls)
		}
	}
}

func TestSpan(t *testing.T) {
	for _, arrival := range everyProcess {
		for _, duration := range []float64{0.0001, 0.01, 3} {
			s := scheduleFor(t, everyProcess[0], 0, duration, 5)
			if duration == 3 {
				s = scheduleFor(t, arrival, 0.5, duration, 5)
			}
			at := times(s)
			if want := (ArrivalSpan{int64(len(at)), at[0], at[len(at)-1]}); s.Span() != want {
				t.Errorf("%s: %+v, want %+v", arrival, s.Span(), want)
			}
		}
	}
}

// A block of arrivals that ends is followed by the next without a trace: counts in windows of any length scatter as
// Poisson counts do, those that are a block long and those that are a leaf long.
func TestPoissonCountsScatterAtEveryScale(t *testing.T) {
	const rate, total = 1000.0, 2000.0
	at := times(makeSchedule("poisson", rate, 0, total, 12))
	for _, window := range []float64{0.004, 0.016, 0.13, 1.024, 4.1} {
		counts := make([]float64, int(total/window))
		for _, now := range at {
			if i := int(float64(now) / 1e9 / window); i < len(counts) {
				counts[i]++
			}
		}
		mean, sum, n := rate*window, 0.0, float64(len(counts))
		for _, count := range counts {
			sum += (count - mean) * (count - mean)
		}
		if dispersion := sum / n / mean; math.Abs(dispersion-1) > 5*math.Sqrt((2+1/mean)/n) {
			t.Errorf("index of dispersion over %g s: %.3f", window, dispersion)
		}
	}
}

// What a cursor costs for each of its requests: of the whole schedule, and of one share of many.
func BenchmarkShare(b *testing.B) {
	for _, process := range []string{"constant", "poisson"} {
		for _, threads := range []uint64{1, 16, 1000} {
			b.Run(fmt.Sprintf("%s/1 of %d", process, threads), func(b *testing.B) {
				s := makeSchedule(process, 1000*float64(threads), 0, 86400, 1)
				c := s.Share(threads-1, threads)
				for b.Loop() {
					if !c.Next() {
						c = s.Share(threads-1, threads)
					}
				}
			})
		}
	}
}

// A steady warm-up has the whole rate from its beginning; otherwise half as many requests fall into it.
func TestSteadyWarmup(t *testing.T) {
	t.Parallel()
	for steady, want := range map[bool]int{true: 100, false: 50} {
		s, err := New(&Arrival{Process: "constant", Rate: 100, SteadyWarmup: steady}, 1, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		warm, measured := 0, 0
		for c := s.Walk(); c.Next(); {
			if s.Measured(c.At) {
				measured++
			} else {
				warm++
			}
		}
		if warm < want-1 || warm > want+1 || measured != 200 {
			t.Errorf("steady %t: %d requests warm up, %d are measured", steady, warm, measured)
		}
	}
}
