package load

import (
	"math"
	"math/rand/v2"
	"sort"
)

// process says when the next request of a cursor is due, in ns on the even scale, where its mean rate is the plan's
// all the time. Times are float64: at 3 hours they still resolve 2 ps, so no rate is rounded. A process itself never
// changes; what it remembers is in the cursor.
type process interface{ due(c *cursor) float64 }

// memory is what a modulated process remembers from one request to the next.
type memory struct {
	state int
	ends  float64 // when the state ends, ns from the start of the run
	until float64 // the same on the even scale
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

func (p constant) due(c *cursor) float64 { return float64(c.count) * p.period }

// poisson: independent exponential gaps.
type poisson struct{ mean float64 }

func (p poisson) due(c *cursor) float64 { return c.exact + exponential(&c.random)*p.mean }

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

func (z zipfSpaced) due(c *cursor) float64 {
	units := 1 + sort.SearchFloat64s(z.upTo, uniform(&c.random))
	return c.exact + float64(units)*z.unit
}

// modulated is a cyclic Markov-modulated Poisson process: Poisson, at a rate that the state decides. States last
// exponential times on the clock, whatever the shape of the load, and the first is drawn by the shares of time that
// the states have in the long run, so the mean rate is the plan's from the beginning.
type modulated struct {
	gaps   []float64 // mean gap of each state, ns on the even scale; 0 where it is silent
	dwells []float64 // mean time that each lasts, ns
	cycle  float64   // the sum of the dwells
}

func newModulated(states []State, mean float64) modulated {
	var m modulated
	sent := 0.0
	for _, state := range states {
		m.dwells = append(m.dwells, state.DwellS*1e9)
		m.cycle += state.DwellS * 1e9
		sent += state.Factor * state.DwellS * 1e9
	}
	for _, state := range states {
		gap := 0.0
		if state.Factor > 0 {
			gap = mean * sent / m.cycle / state.Factor
		}
		m.gaps = append(m.gaps, gap)
	}
	return m
}

func (m modulated) due(c *cursor) float64 {
	if c.count == 0 {
		m.begin(c)
	}
	at := c.exact
	for {
		next := math.Inf(1)
		if gap := m.gaps[c.memory.state]; gap > 0 {
			next = at + exponential(&c.random)*gap
		}
		if next < c.memory.until || math.IsInf(c.memory.until, 1) {
			return next
		}
		// The exponential distribution has no memory: what the gap has left is drawn anew in the next state.
		at = c.memory.until
		m.enter(c, (c.memory.state+1)%len(m.gaps))
	}
}

func (m modulated) begin(c *cursor) {
	point, state := uniform(&c.random)*m.cycle, 0
	for ; state < len(m.dwells)-1 && point >= m.dwells[state]; state++ {
		point -= m.dwells[state]
	}
	m.enter(c, state)
}

// enter begins a state where the one before ended.
func (m modulated) enter(c *cursor, state int) {
	c.memory.state = state
	c.memory.ends += exponential(&c.random) * m.dwells[state]
	c.memory.until = c.schedule.course.even(c.memory.ends, c.phase)
}

// uniform is in [0, 1).
func uniform(random *rand.PCG) float64 { return float64(random.Uint64()>>11) / (1 << 53) }

// exponential has the mean 1.
func exponential(random *rand.PCG) float64 { return -math.Log1p(-uniform(random)) }
