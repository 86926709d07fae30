package schedule

import (
	"math"
	"math/rand/v2"
	"sort"
)

// process says when request n is due, in ns on the even scale, where its mean rate is the plan's all the time. A cursor
// passes increasing n. Times are float64: at 3 hours they still resolve 2 ps, so no rate is rounded. A process
// itself never changes; what it remembers is in the cursor.
type process interface {
	due(c *Cursor, n uint64) float64
}

// memory is what processes remember from one request to the next.
type memory struct {
	unit   unitPoisson // poisson, on-off, mmpp
	spaced spaced      // zipf
	states stateMemory // on-off, mmpp
}

// newProcess makes a process that was checked, other than a replay.
func newProcess(a *Arrival) process {
	mean := 1e9 / a.Rate
	switch a.Process {
	case "poisson":
		return poisson{mean}
	case "zipf":
		return newZipfSpaced(orElse(a.N, 100), orElse(a.Alpha, 3), mean)
	case "on-off":
		return newModulated([]State{{1, *a.OnS}, {0, *a.OffS}}, mean)
	case "mmpp":
		return newModulated(a.States, mean)
	}
	return constant{mean}
}

// constant: request n is due at n periods, multiplied and not summed, so it cannot drift.
type constant struct{ period float64 }

func (p constant) due(_ *Cursor, n uint64) float64 { return float64(n) * p.period }

// poisson: independent exponential gaps.
type poisson struct{ mean float64 }

func (p poisson) due(c *Cursor, n uint64) float64 {
	return c.memory.unit.due(c.Schedule.seed, n) * p.mean
}

// zipfSpaced: independent gaps of 1 to n units; one of k units has a probability in proportion to k^-alpha.
type zipfSpaced struct {
	unit float64   // ns, such that the mean gap is that of the plan
	upTo []float64 // [k]: the probability of at most k+1 units
}

func newZipfSpaced(n int, alpha, mean float64) zipfSpaced {
	upTo := make([]float64, n)
	total, units := 0.0, 0.0
	for k := range upTo {
		weight := math.Pow(float64(k+1), -alpha)
		total += weight
		units += weight * float64(k+1)
		upTo[k] = total
	}
	for k := range upTo {
		upTo[k] /= total
	}
	return zipfSpaced{mean * total / units, upTo}
}

// spaced is the sum of the gaps so far.
type spaced struct {
	random rand.PCG
	count  uint64 // how many gaps there were
	units  float64
}

func (z zipfSpaced) due(c *Cursor, n uint64) float64 {
	m := &c.memory.spaced
	if m.count == 0 {
		m.random.Seed(c.Schedule.seed, streamGaps)
	}
	for ; m.count <= n; m.count++ {
		m.units += float64(1 + sort.SearchFloat64s(z.upTo, uniform(&m.random)))
	}
	return m.units * z.unit
}

// modulated is a cyclic Markov-modulated Poisson process: Poisson, at a rate that the state decides. States last
// exponential times on the clock, whatever the shape of the load, and the first is drawn by the shares of time that
// the states have in the long run, so the mean rate is the plan's from the beginning. As with a course, the arrivals of
// one Poisson process of the mean rate are moved to where the states' rates put them, which keeps it Poisson.
type modulated struct {
	mean   float64   // gap, ns on the even scale
	speeds []float64 // rate in each state, relative to the mean rate
	dwells []float64 // mean time that each lasts, ns
	cycle  float64   // the sum of the dwells
}

// stateMemory is the state that a modulated process is in.
type stateMemory struct {
	random rand.PCG
	state  int
	ends   float64 // when it ends, ns from the start of the run
	begun  float64 // when it began on the even scale
	until  float64 // when it ends on the even scale
	moved  float64 // how much of the steady process had passed when it began, ns
}

func newModulated(states []State, mean float64) modulated {
	m := modulated{mean: mean}
	sent := 0.0
	for _, state := range states {
		m.dwells = append(m.dwells, state.DwellS*1e9)
		m.cycle += state.DwellS * 1e9
		sent += state.Factor * state.DwellS * 1e9
	}
	for _, state := range states {
		m.speeds = append(m.speeds, state.Factor*m.cycle/sent)
	}
	return m
}

func (m modulated) due(c *Cursor, n uint64) float64 {
	s := &c.memory.states
	if s.ends == 0 {
		m.begin(c)
	}
	steady := c.memory.unit.due(c.Schedule.seed, n) * m.mean
	for {
		speed, left := m.speeds[s.state], steady-s.moved
		if passes := (s.until - s.begun) * speed; speed > 0 && left < passes {
			return s.begun + left/speed
		}
		if math.IsInf(s.until, 1) {
			return s.until
		}
		m.enter(c, (s.state+1)%len(m.speeds))
	}
}

func (m modulated) begin(c *Cursor) {
	s := &c.memory.states
	s.random.Seed(c.Schedule.seed, streamStates)
	point, state := uniform(&s.random)*m.cycle, 0
	for ; state < len(m.dwells)-1 && point >= m.dwells[state]; state++ {
		point -= m.dwells[state]
	}
	m.enter(c, state)
}

// enter begins a state where the one before ended.
func (m modulated) enter(c *Cursor, state int) {
	s := &c.memory.states
	s.moved += (s.until - s.begun) * m.speeds[s.state]
	s.begun, s.state = s.until, state
	s.ends += exponential(&s.random) * m.dwells[state]
	s.until = c.Schedule.course.even(s.ends, c.phase)
}

// uniform is in [0, 1).
func uniform(random *rand.PCG) float64 { return float64(random.Uint64()>>11) / (1 << 53) }

// exponential has the mean 1.
func exponential(random *rand.PCG) float64 { return -math.Log1p(-uniform(random)) }
