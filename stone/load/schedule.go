package load

import "math/rand/v2"

// schedule is every intended send time of a run, as a recipe: walk it with a cursor, as often as needed.
type schedule struct {
	process  process
	course   course
	seed     uint64
	from, to int64   // the measured window, ns from the start; nothing is scheduled at or after its end
	highest  float64 // requests/s that the rate rises to; a mean, where chance spaces them
}

// newSchedule makes the recipe; a *PlanError says what of the plan cannot be carried out.
func newSchedule(plan *Plan) (schedule, error) {
	s := schedule{seed: plan.Seed, from: int64(seconds(plan.WarmupS))}
	s.to = s.from + int64(seconds(plan.DurationS))
	s.course = newCourse(plan.Arrival.Shape, float64(s.from), float64(s.to))
	if plan.Arrival.Process == "replay" {
		var err error
		s.process, s.highest, err = newReplay(&plan.Arrival, &s)
		return s, err
	}
	s.process = newProcess(&plan.Arrival)
	for _, phase := range s.course {
		s.highest = max(s.highest, plan.Arrival.Rate*phase.highest())
	}
	return s, nil
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
	memory   memory
	exact    float64 // due time of the request on the even scale, ns
	phase    int     // of the course, that the request falls into
	count    uint64  // requests passed
	n        uint64  // the request's number
	at       int64   // its due time, whole ns
}

// next steps to the next request; false when the schedule has ended.
func (c *cursor) next() bool {
	c.exact = c.schedule.process.due(c)
	// The time is exact to a thousandth of a ns, which may be the other side of a whole one: never go back.
	c.n, c.at = c.count, max(c.at, int64(c.schedule.course.when(c.exact, &c.phase)))
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
