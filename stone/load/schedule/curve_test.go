package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// randomCurves are curves of every kind with the length (ns) to look at, steep and flat, from 1 ms to 1000 s.
func randomCurves(count int) (curves []curve, lengths []float64) {
	random := rand.New(rand.NewPCG(1, 2))
	factor := func() float64 { return math.Exp(random.NormFloat64() * 2) }
	for range count {
		length := 1e6 * math.Pow(10, 6*random.Float64())
		mean, period := factor(), length*math.Pow(10, 1-4*random.Float64())
		for _, c := range []curve{
			level{factor()}, ramp{0, factor(), length}, ramp{factor(), 0, length}, ramp{factor(), factor(), length},
			ramp{1, 1 + 1e-12, length}, sine{mean, mean * (2*random.Float64() - 1), period}, sine{mean, mean, period},
			sine{mean, -mean, period}, sine{mean, 0, period},
		} {
			curves, lengths = append(curves, c), append(lengths, length)
		}
	}
	return curves, lengths
}

func TestIntegralsAddUpTheRate(t *testing.T) {
	curves, lengths := randomCurves(30)
	for i, c := range curves {
		width := lengths[i]
		if s, swings := c.(sine); swings {
			width = min(width, 5*s.period)
		}
		const steps = 2000 // of Simpson's rule
		sum, step := 0.0, width/steps
		for k := range steps {
			t := float64(k) * step
			sum += (c.rate(t) + 4*c.rate(t+step/2) + c.rate(t+step)) * step / 6
		}
		if have := c.integral(width); math.Abs(have-sum) > 1e-9*sum {
			t.Errorf("%#v over %g ns: %.12g, want %.12g", c, width, have, sum)
		}
	}
}

// Where the rate is almost 0 many times have nearly the same integral: so it is the integral that must be right,
// to a thousandth of a ns at the highest rate; elsewhere the time must be, too.
func TestInversesFindTheTime(t *testing.T) {
	curves, lengths := randomCurves(30)
	for i, c := range curves {
		last, whole := 0.0, c.integral(lengths[i])
		for k := range 200 {
			even := whole * float64(k) / 200
			when := c.inverse(even)
			if !(when >= last && when <= lengths[i]*(1+1e-9)) {
				t.Fatalf("%#v: %.12g is at %.12g ns, after %.12g", c, even, when, last)
			}
			last = when
			precision := 2e-3*c.highest() + 1e-13*whole
			if back := c.integral(when); math.Abs(back-even) > precision {
				t.Errorf("%#v: %.12g is at %.12g ns, where it is %.12g", c, even, when, back)
			}
			at := lengths[i] * float64(k) / 200
			if again := c.inverse(c.integral(at)); c.rate(at) > 0.01*c.highest() && math.Abs(again-at) > 0.2+1e-11*at {
				t.Errorf("%#v: %.12g ns becomes %.12g", c, at, again)
			}
		}
	}
}

func TestPhasesFollowEachOtherAtTheirBoundaries(t *testing.T) {
	at := times(scheduleFor(t, `{"process":"constant","rate":10,"shape":[{"for_s":1,"rate":1},{"for_s":1,"rate":0},
		{"for_s":0.5,"rate":2},{"for_s":0.5,"from":0,"to":0},{"for_s":1,"from":1,"to":1}]}`, 0, 4, 1))
	var want []int64
	for n := range int64(10) {
		want = append(want, n*100e6)
	}
	for n := range int64(10) {
		want = append(want, 2000e6+n*50e6)
	}
	for n := range int64(10) {
		want = append(want, 3000e6+n*100e6)
	}
	if fmt.Sprint(at) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", at, want)
	}
}

func TestTheLastPhaseEndsWithTheWindow(t *testing.T) {
	s := scheduleFor(t, `{"process":"constant","rate":10,"shape":[{"for_s":0.1,"rate":1},{"for_s":0.2,"rate":2}]}`, 0.7, 0.3, 1)
	if end := s.course[len(s.course)-1].end; end != 1e9 || s.To != 1e9 {
		t.Errorf("the last phase ends at %.9g ns, the window at %d", end, s.To)
	}
}

// With constant spacing, the requests due before a time are the rate's integral until then, warm-up included.
func TestConstantFollowsTheRatesIntegral(t *testing.T) {
	for _, shape := range []string{
		`{"for_s":10,"rate":1}`,
		`{"for_s":10,"from":0.2,"to":3}`,
		`{"for_s":10,"from":3,"to":0}`,
		`{"for_s":10,"mean":1,"amplitude":1,"period_s":2.5}`,
		`{"for_s":10,"mean":1,"amplitude":-0.5,"period_s":7}`,
		`{"for_s":3,"from":0.2,"to":1},{"for_s":4,"rate":1},{"for_s":3,"mean":1,"amplitude":0.7,"period_s":2}`,
		`{"for_s":3,"rate":0.3333333333},{"for_s":3,"rate":2},{"for_s":4,"rate":0.1}`,
	} {
		const rate, warmup = 1000.0, 2.0
		s := scheduleFor(t, fmt.Sprintf(`{"process":"constant","rate":%g,"shape":[%s]}`, rate, shape), warmup, 10, 1)
		initial, rateAt := s.course[1].rate(0), func(second float64) float64 {
			for _, p := range s.course {
				if ns := second * 1e9; ns < p.end {
					return p.rate(ns - p.start)
				}
			}
			return 0
		}
		if have := rateAt(warmup / 2); math.Abs(have-initial/2) > 1e-9 {
			t.Errorf("%s: the rate is %g in the middle of the warm-up, want %g", shape, have, initial/2)
		}
		at, next, sum := times(s), 0, 0.0
		const step = 1e-4
		for k := range 120_000 {
			second := float64(k) * step
			for next < len(at) && float64(at[next])/1e9 < second {
				next++
			}
			if math.Abs(float64(next)-rate*sum) > 1.5 {
				t.Fatalf("%s: %d requests until %g s, want %.2f", shape, next, second, rate*sum)
			}
			sum += rateAt(second+step/2) * step
		}
	}
}

// The time-rescaling theorem: on the scale of the rate's integral the gaps of a Poisson process are exponential.
func TestPoissonStaysPoissonWhileItsRateVaries(t *testing.T) {
	const rate = 20_000.0
	s := scheduleFor(t, `{"process":"poisson","rate":20000,"shape":[{"for_s":2,"from":0.2,"to":1},{"for_s":1,"rate":1},
		{"for_s":3,"mean":1,"amplitude":0.9,"period_s":0.5}]}`, 1, 6, 8)
	var gaps []float64
	previous := 0.0
	for _, at := range times(s) {
		even := s.course.even(float64(at), 0) / 1e9 * rate
		gaps = append(gaps, even-previous)
		previous = even
	}
	if distance, limit := exponentialDistance(gaps), 1.95/math.Sqrt(float64(len(gaps))); distance > limit {
		t.Errorf("KS distance %.5f of %d gaps, limit %.5f", distance, len(gaps), limit)
	}
}

func BenchmarkWalk(b *testing.B) {
	for _, arrival := range everyProcess {
		a, err := parseArrival(arrival, 3)
		if err != nil {
			b.Fatal(err)
		}
		a.Rate = 1e6
		s, err := New(&a, 0, 3, 0)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(arrival, func(b *testing.B) {
			c := s.Walk()
			for b.Loop() {
				if !c.Next() {
					c = s.Walk()
				}
			}
		})
	}
}
