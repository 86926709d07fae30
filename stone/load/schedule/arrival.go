package schedule

import (
	"fmt"
	"math"
	"time"

	"loadstone.dev/stone/load/mistake"
)

// Arrival says how the intended send times follow each other: by which process, at which mean rate in
// requests/s, and how that rate goes over the measured window. Keys that are pointers may be left out.
type Arrival struct {
	Process string  `json:"process"` // constant, poisson, zipf, on-off, mmpp or replay
	Rate    float64 `json:"rate"`    // replay: 0 where `speed` decides

	N      *int     `json:"n"`      // zipf: gaps are 1 to n units long; 100
	Alpha  *float64 `json:"alpha"`  // zipf: a gap of k units has a probability in proportion to k^-alpha; 3
	OnS    *float64 `json:"on_s"`   // on-off: mean seconds of sending
	OffS   *float64 `json:"off_s"`  // on-off: mean seconds of silence
	States []State  `json:"states"` // mmpp: gone through in a circle
	File   string   `json:"file"`   // replay: a trace, CSV or Parquet
	Column string   `json:"column"` // replay: its column of times; the first
	Speed  *float64 `json:"speed"`  // replay: how much faster than recorded; 1
	Shape  []Phase  `json:"shape"`  // phases in sequence over the measured window; steady at `rate`

	SteadyWarmup bool `json:"steady_warmup"` // the warm-up has the whole rate from its beginning; else it grows to that
}

// State is one state of a Markov-modulated Poisson process: its rate relative to that of the other states, and
// the mean of the exponential time that it lasts.
type State struct {
	Factor float64 `json:"factor"`
	DwellS float64 `json:"dwell_s"`
}

// Phase is a part of the measured window. It has `rate` (steady), or `from` and `to` (a ramp), or `mean`,
// `amplitude` and `period_s` (a sine that begins at its mean and rises); all but the seconds are factors of the rate.
type Phase struct {
	ForS      float64  `json:"for_s"`
	Rate      *float64 `json:"rate"`
	From      *float64 `json:"from"`
	To        *float64 `json:"to"`
	Mean      *float64 `json:"mean"`
	Amplitude *float64 `json:"amplitude"`
	PeriodS   *float64 `json:"period_s"`
}

const (
	MostRate    = 10e6      // requests/s
	MostSeconds = 24 * 3600 // the longest window
	maxFactor   = 1e6
	shortestS   = 0.001 // the shortest state or period: shorter ones are nothing that a generator can offer
	zipfLongest = 1_000_000
)

// Check says what is wrong with an arrival process whose measured window is durationS seconds long.
func (a *Arrival) Check(durationS float64) error {
	switch a.Process {
	case "constant", "poisson", "zipf", "on-off", "mmpp", "replay":
	default:
		return mistake.New("arrival.process", "%q is not known; give constant, poisson, zipf, on-off, mmpp or replay", a.Process)
	}
	if err := a.checkKeys(); err != nil {
		return err
	}
	if traced := a.Process == "replay" && a.Rate == 0; !traced && (a.Rate <= 0 || a.Rate > MostRate) {
		return mistake.New("arrival.rate", "%g is out of range; give more than 0 and at most %g", a.Rate, MostRate)
	}
	if err := a.checkProcess(); err != nil {
		return err
	}
	return a.checkShape(durationS)
}

// checkKeys refuses the keys of other processes.
func (a *Arrival) checkKeys() error {
	for _, key := range []struct {
		name    string
		there   bool
		process string
	}{
		{"n", a.N != nil, "zipf"}, {"alpha", a.Alpha != nil, "zipf"},
		{"on_s", a.OnS != nil, "on-off"}, {"off_s", a.OffS != nil, "on-off"},
		{"states", a.States != nil, "mmpp"},
		{"file", a.File != "", "replay"}, {"column", a.Column != "", "replay"}, {"speed", a.Speed != nil, "replay"},
	} {
		if key.there && key.process != a.Process {
			return mistake.New("arrival."+key.name, "is a key of %s and not of %s; leave it out", key.process, a.Process)
		}
	}
	if a.Shape != nil && a.Process == "replay" {
		return mistake.New("arrival.shape", "a trace has its own shape; leave it out")
	}
	return nil
}

func (a *Arrival) checkProcess() error {
	switch a.Process {
	case "zipf":
		if n := orElse(a.N, 100); n < 1 || n > zipfLongest {
			return mistake.New("arrival.n", "%d is out of range; give at least 1 and at most %d", n, zipfLongest)
		}
		return inRange("arrival.alpha", orElse(a.Alpha, 3), 0, 100)
	case "on-off":
		if a.OnS == nil || a.OffS == nil {
			return mistake.New("arrival", "on-off needs on_s and off_s, the mean seconds of sending and of silence")
		}
		if err := inRange("arrival.on_s", *a.OnS, shortestS, MostSeconds); err != nil {
			return err
		}
		return inRange("arrival.off_s", *a.OffS, shortestS, MostSeconds)
	case "mmpp":
		return a.checkStates()
	case "replay":
		switch {
		case a.File == "":
			return mistake.New("arrival.file", "missing; give the path of a trace, CSV or Parquet")
		case a.Speed != nil && a.Rate != 0:
			return mistake.New("arrival.speed", "%g, beside rate %g: a trace is sped up either by a factor or to a rate; leave one out",
				*a.Speed, a.Rate)
		case orElse(a.Speed, 1) <= 0 || orElse(a.Speed, 1) > maxFactor:
			return mistake.New("arrival.speed", "%g is out of range; give more than 0 and at most %g", *a.Speed, maxFactor)
		}
	}
	return nil
}

func (a *Arrival) checkStates() error {
	if len(a.States) < 2 {
		return mistake.New("arrival.states", "%d given; mmpp needs at least two, one alone is poisson", len(a.States))
	}
	sends := false
	for i, state := range a.States {
		key := fmt.Sprintf("arrival.states[%d]", i)
		if err := inRange(key+".factor", state.Factor, 0, maxFactor); err != nil {
			return err
		}
		if err := inRange(key+".dwell_s", state.DwellS, shortestS, MostSeconds); err != nil {
			return err
		}
		sends = sends || state.Factor > 0
	}
	if !sends {
		return mistake.New("arrival.states", "every factor is 0; give one that is not")
	}
	return nil
}

func (a *Arrival) checkShape(durationS float64) error {
	if a.Shape == nil {
		return nil
	}
	total, sends := 0.0, false
	for i := range a.Shape {
		phase, key := &a.Shape[i], fmt.Sprintf("arrival.shape[%d]", i)
		if err := phase.check(key); err != nil {
			return err
		}
		highest := phase.curve().highest()
		if a.Rate*highest > MostRate {
			return mistake.New(key, "%g times the rate of %g is more than %g requests/s", highest, a.Rate, MostRate)
		}
		total += phase.ForS
		sends = sends || highest > 0
	}
	if math.Abs(total-durationS) > 1e-9*(1+durationS) {
		return mistake.New("arrival.shape", "its phases last %g s together, and duration_s is %g; make them equal", total, durationS)
	}
	if !sends {
		return mistake.New("arrival.shape", "the rate is 0 all the time; give a phase that sends")
	}
	return nil
}

// inRange refuses what is not from low to high.
func inRange(key string, value, low, high float64) error {
	if value < low || value > high {
		return mistake.New(key, "%g is out of range; give at least %g and at most %g", value, low, high)
	}
	return nil
}

func orElse[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// Seconds is a duration given in seconds.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
