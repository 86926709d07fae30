package schedule

import (
	"math"
	"strings"

	"loadstone.dev/stone/load/mistake"
)

// check refuses a phase that is not one of the three kinds, or whose rate would be negative.
func (p *Phase) check(key string) error {
	if p.ForS <= 0 || p.ForS > MostSeconds {
		return mistake.New(key+".for_s", "%g is out of range; give more than 0 and at most %d", p.ForS, MostSeconds)
	}
	var given []string
	for _, k := range []struct {
		name  string
		value *float64
		low   float64
	}{
		{"rate", p.Rate, 0}, {"from", p.From, 0}, {"to", p.To, 0},
		{"mean", p.Mean, 1e-6}, {"amplitude", p.Amplitude, -maxFactor}, {"period_s", p.PeriodS, shortestS},
	} {
		if k.value == nil {
			continue
		}
		given = append(given, k.name)
		if err := inRange(key+"."+k.name, *k.value, k.low, maxFactor); err != nil {
			return err
		}
	}
	switch has := strings.Join(given, ", "); has {
	case "rate", "from, to":
		return nil
	case "mean, amplitude, period_s":
		if math.Abs(*p.Amplitude) > *p.Mean {
			return mistake.New(key+".amplitude", "%g is more than the mean, %g: the rate would fall below 0", *p.Amplitude, *p.Mean)
		}
		return nil
	default:
		return mistake.New(key, "has %s; give rate (steady), or from and to (ramp), or mean, amplitude and period_s (sine)",
			orNothing(has))
	}
}

func orNothing(list string) string {
	if list == "" {
		return "only for_s"
	}
	return list
}

// curve is the rate of a phase that was checked.
func (p *Phase) curve() curve {
	switch {
	case p.Rate != nil:
		return level{*p.Rate}
	case p.From != nil && *p.From == *p.To:
		return level{*p.From}
	case p.From != nil:
		return ramp{*p.From, *p.To, p.ForS * 1e9}
	}
	return sine{*p.Mean, *p.Amplitude, *p.PeriodS * 1e9}
}

// course is the rate over the whole run: the ramp of the warm-up, then the phases of the measured window.
type course []placed

// placed is a curve in its place, in ns from the start of the run and on the even scale.
type placed struct {
	curve
	start, end         float64
	evenStart, evenEnd float64
}

// newCourse lets the rate grow evenly over the warm-up, which ends at `from` (ns), to what the first phase begins
// with: at full rate the first, slow answers of cold caches would leave a backlog, and near its capacity a system
// needs far longer than a warm-up to work one off. A steady one has that rate all along. Without phases the rate is
// steady until `to`.
func newCourse(shape []Phase, steadyWarmup bool, from, to float64) course {
	if len(shape) == 0 {
		shape = []Phase{{ForS: (to - from) / 1e9, Rate: new(1.0)}}
	}
	var c course
	switch first := shape[0].curve().rate(0); {
	case from > 0 && steadyWarmup:
		c = c.then(level{first}, from)
	case from > 0:
		c = c.then(ramp{0, first, from}, from)
	}
	end := from
	for i := range shape {
		if end += shape[i].ForS * 1e9; i == len(shape)-1 {
			end = to // the sum of the phases is that only to within rounding
		}
		c = c.then(shape[i].curve(), end)
	}
	return c
}

// then is the course with one more curve, until `end`.
func (c course) then(next curve, end float64) course {
	p := placed{curve: next, end: end}
	if len(c) > 0 {
		p.start, p.evenStart = c[len(c)-1].end, c[len(c)-1].evenEnd
	}
	p.evenEnd = p.evenStart + next.integral(p.end-p.start)
	return append(c, p)
}

// when is the time of a point of the even scale; `phase` is where to begin looking and moves to where it was found.
// What comes after the end of the course falls on the end.
func (c course) when(even float64, phase *int) float64 {
	for even >= c[*phase].evenEnd {
		if *phase == len(c)-1 {
			return c[*phase].end
		}
		*phase++
	}
	p := &c[*phase]
	return min(p.start+p.inverse(even-p.evenStart), p.end)
}

// even is the point of the even scale that belongs to a time in `phase` or after it; infinite at and after the end.
func (c course) even(t float64, phase int) float64 {
	for ; phase < len(c); phase++ {
		if p := &c[phase]; t < p.end {
			return p.evenStart + p.integral(t-p.start)
		}
	}
	return math.Inf(1)
}
