package load

import (
	"math"
	"math/rand/v2"
)

// A pacer says when request n is due, in ns from the start, given when request n-1 was due and the random
// numbers of the schedule. Times are float64: at 3 hours they still resolve 2 ps, so no rate is rounded.
type pacer interface {
	due(n uint64, previous float64, random *rand.PCG) float64
}

// constant pacing: request n is due at n periods, multiplied and not summed, so it cannot drift.
type constant struct{ period float64 }

func (c constant) due(n uint64, _ float64, _ *rand.PCG) float64 { return float64(n) * c.period }

// poisson pacing: independent exponential gaps of the given mean.
type poisson struct{ mean float64 }

func (p poisson) due(_ uint64, previous float64, random *rand.PCG) float64 {
	uniform := float64(random.Uint64()>>11) / (1 << 53) // in [0, 1)
	return previous - math.Log1p(-uniform)*p.mean
}

var (
	_ pacer = constant{}
	_ pacer = poisson{}
)

// schedule is every intended send time of a run, as a recipe: walk it with a cursor, as often as needed.
type schedule struct {
	pacer    pacer
	seed     uint64
	from, to int64 // the measured window, ns from the start; nothing is scheduled at or after its end
}

// newSchedule makes the recipe; a *PlanError says what of the plan cannot be carried out.
func newSchedule(plan *Plan) (schedule, error) {
	gap := 1e9 / plan.Arrival.Rate
	s := schedule{pacer: constant{gap}, seed: plan.Seed, from: int64(seconds(plan.WarmupS))}
	if plan.Arrival.Process == "poisson" {
		s.pacer = poisson{gap}
	}
	s.to = s.from + int64(seconds(plan.DurationS))
	return s, nil
}

// ramped is when a request goes out that an even schedule would send at `even`. The rate grows linearly over the
// warm-up and is the whole one from then on: at full rate the first, slow answers of cold caches would leave a
// backlog, and near its capacity a system needs far longer than a warm-up to work one off. The even schedule is
// stretched by the inverse of the rate's integral, which keeps a Poisson process Poisson (Lewis and Shedler 1979).
func (s *schedule) ramped(even float64) float64 {
	warmup := float64(s.from)
	if even < warmup/2 {
		return math.Sqrt(2 * warmup * even)
	}
	return even + warmup/2
}

// measured says whether a request due at this time counts: warm-up requests are sent but not counted.
func (s *schedule) measured(at int64) bool { return at >= s.from && at < s.to }

// planned counts the requests of the measured window.
func (s *schedule) planned() int64 {
	count, c := int64(0), s.walk()
	for c.next() {
		if s.measured(c.at) {
			count++
		}
	}
	return count
}

// walk returns a cursor before the first request. Cursors are values: a copy is an independent walker.
func (s *schedule) walk() cursor {
	return cursor{schedule: s, random: *rand.NewPCG(s.seed, 0x9e3779b97f4a7c15)}
}

// cursor stands on one request of a schedule.
type cursor struct {
	schedule *schedule
	random   rand.PCG
	exact    float64 // due time of the request without the ramp, ns
	count    uint64  // requests passed
	n        uint64  // the request's number
	at       int64   // its due time, whole ns
}

// next steps to the next request; false when the schedule has ended.
func (c *cursor) next() bool {
	c.exact = c.schedule.pacer.due(c.count, c.exact, &c.random)
	c.n, c.at = c.count, int64(c.schedule.ramped(c.exact))
	c.count++
	return c.at < c.schedule.to
}

// share walks the requests that fall to one thread: every request n with n mod threads = thread.
// The shares of all threads are together exactly the schedule, whatever the number of threads.
type share struct {
	cursor
	thread, threads uint64
}

func (s *share) next() bool {
	for s.cursor.next() {
		if s.n%s.threads == s.thread {
			return true
		}
	}
	return false
}

// arrivals counts how many requests of a share were due between `from` and a time that only moves forward.
type arrivals struct {
	share
	from    int64
	count   int64
	pending bool // the share stands on a request that is not counted yet
	ended   bool
}

func (a *arrivals) until(t int64) int64 {
	for !a.ended {
		if !a.pending {
			if a.pending = a.next(); !a.pending {
				a.ended = true
				break
			}
		}
		if a.at > t {
			break
		}
		if a.at >= a.from {
			a.count++
		}
		a.pending = false
	}
	return a.count
}
