package schedule

import (
	"math"
	"testing"
)

// The number of requests of an on-off process scatters by lambda^2 times the variance of the time that it is on:
// with p its share, 2 p (1-p) t / (1/on + 1/off). So its mean and index of dispersion tell rate and dwells.
func TestOnOffHasItsRateAndItsBursts(t *testing.T) {
	const rate, on, off, window, windows = 200.0, 0.02, 0.06, 2.0, 2000
	at := times(scheduleFor(t, `{"process":"on-off","rate":200,"on_s":0.02,"off_s":0.06}`, 0, window*windows, 9))
	p := on / (on + off)
	dispersion := 1 + 2*rate/p*(1-p)/(1/on+1/off)
	if mean, sd := float64(len(at)), math.Sqrt(dispersion*rate*window*windows); math.Abs(mean-rate*window*windows) > 5*sd {
		t.Errorf("%g requests, want %g +- %.0f", mean, rate*window*windows, sd)
	}
	counts := make([]float64, windows)
	for _, now := range at {
		counts[int(float64(now)/window/1e9)]++
	}
	mean := rate * window
	sum := 0.0
	for _, count := range counts {
		sum += (count - mean) * (count - mean)
	}
	if have := sum / windows / mean; math.Abs(have/dispersion-1) > 5*math.Sqrt(2.0/windows) {
		t.Errorf("index of dispersion %.3f, want %.3f", have, dispersion)
	}
}

// Silences last as long by the clock whatever the rate is: what a gap has beyond 50 mean gaps of a burst is an
// exponential time of their mean, at half the rate as at twice it.
func TestSilencesAreTimedByTheClock(t *testing.T) {
	const beyond, off = 0.25, 0.3
	at := times(scheduleFor(t, `{"process":"on-off","rate":100,"on_s":0.1,"off_s":0.3,
		"shape":[{"for_s":2000,"rate":0.5},{"for_s":2000,"rate":2}]}`, 0, 4000, 4))
	var sum, count [2]float64
	for i := 1; i < len(at); i++ {
		if gap := float64(at[i]-at[i-1]) / 1e9; gap > beyond {
			half := int(at[i] / 2000e9)
			sum[half] += gap - beyond
			count[half]++
		}
	}
	for half := range sum {
		if mean, n := sum[half]/count[half], count[half]; n < 1000 || math.Abs(mean-off) > 5*off/math.Sqrt(n) {
			t.Errorf("half %d: %g silences of %.4f s beyond %g s, want %g s", half, n, mean, beyond, off)
		}
	}
}

func TestStatesHaveTheirSharesOfTimeAndOfRequests(t *testing.T) {
	s := scheduleFor(t, `{"process":"mmpp","rate":1000,"states":[{"factor":0.5,"dwell_s":0.02},{"factor":0,"dwell_s":0.05},
		{"factor":2,"dwell_s":0.01}]}`, 0, 2000, 2)
	var requests, visits, seconds [3]float64
	c := s.Walk()
	for c.Next() {
		requests[c.memory.states.state]++
	}
	total := requests[0] + requests[1] + requests[2]
	for state, share := range [3]float64{1.0 / 3, 0, 2.0 / 3} { // factor times dwell
		if have := requests[state] / total; math.Abs(have-share) > 0.01 {
			t.Errorf("state %d has %.4f of the requests, want %.4f", state, have, share)
		}
	}
	if math.Abs(total-2e6) > 0.02*2e6 {
		t.Errorf("%g requests, want about 2e6", total)
	}
	m := s.process.(modulated)
	c = s.Walk()
	m.begin(&c)
	for range 30_000 {
		state, began := (c.memory.states.state+1)%3, c.memory.states.ends
		m.enter(&c, state)
		visits[state]++
		seconds[state] += (c.memory.states.ends - began) / 1e9
	}
	for state, want := range [3]float64{0.02, 0.05, 0.01} {
		if mean := seconds[state] / visits[state]; math.Abs(mean-want) > 5*want/math.Sqrt(visits[state]) {
			t.Errorf("state %d lasts %.5f s, want %g s", state, mean, want)
		}
	}
}

// If every run began with a burst, short windows would have too many requests.
func TestTheFirstStateIsDrawnByItsShareOfTime(t *testing.T) {
	const seeds, rate, on, off, window = 4000, 2000.0, 1.0, 3.0, 0.05
	s := scheduleFor(t, `{"process":"on-off","rate":2000,"on_s":1,"off_s":3}`, 0, window, 0)
	total, begun := 0.0, 0.0
	for seed := range uint64(seeds) {
		s.seed = seed
		total += float64(len(times(s)))
		c := s.Walk()
		s.process.(modulated).begin(&c)
		begun += float64(1 - c.memory.states.state)
	}
	// Nearly all or nothing: a share p of the windows has rate/p * window requests.
	p := on / (on + off)
	if mean, sd := total/seeds, rate*window*math.Sqrt((1-p)/p/seeds); math.Abs(mean-rate*window) > 5*sd {
		t.Errorf("%.1f requests a window, want %.1f +- %.1f", mean, rate*window, sd)
	}
	if have := begun / seeds; math.Abs(have-p) > 5*math.Sqrt(p*(1-p)/seeds) {
		t.Errorf("%.3f of the runs begin with a burst, want %.3f", have, p)
	}
}

func TestSilenceToTheEndEndsTheSchedule(t *testing.T) {
	s := scheduleFor(t, `{"process":"on-off","rate":1000,"on_s":0.001,"off_s":86400}`, 0, 1, 1)
	if at := times(s); len(at) != 0 {
		t.Errorf("%d requests in a second of a silence of a day", len(at))
	}
}
