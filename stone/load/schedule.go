package load

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
func (s *schedule) walk() cursor { return s.share(0, 1) }

// share returns a cursor before the first request that falls to one of several threads: every request n with
// n mod threads = thread. The shares of all threads are together exactly the schedule, whatever their number, and
// walking a share costs what the share costs, not the whole (except for zipf, whose gaps can only be added up).
func (s *schedule) share(thread, threads uint64) cursor {
	return cursor{schedule: s, upcoming: thread, stride: threads}
}

// span counts the schedule's requests and says when the first and the last are due.
func (s *schedule) span() (span arrivalSpan) {
	const leap = 1024
	first, last := s.walk(), s.share(0, leap)
	if !first.next() {
		return span
	}
	for ahead := last; ahead.next(); {
		last = ahead
	}
	// From the last request that a leap reaches, step by step.
	for last.stride, last.upcoming = 1, last.n; last.next(); {
		span = arrivalSpan{int64(last.n) + 1, first.at, last.at}
	}
	return span
}

// cursor stands on one request of a schedule.
type cursor struct {
	schedule *schedule
	upcoming uint64 // the next request's number
	stride   uint64 // from one request to the next
	memory   memory
	phase    int    // of the course, that the request falls into
	n        uint64 // the request's number
	at       int64  // its due time, whole ns
}

// next steps to the next request; false when the schedule has ended.
func (c *cursor) next() bool {
	exact := c.schedule.process.due(c, c.upcoming)
	// The time is exact to a thousandth of a ns, which may be the other side of a whole one: never go back.
	c.n, c.at = c.upcoming, max(c.at, int64(c.schedule.course.when(exact, &c.phase)))
	c.upcoming += c.stride
	return c.at < c.schedule.to
}

// arrivals counts how many requests of a share were due between `from` and a time that only moves forward.
type arrivals struct {
	cursor
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
