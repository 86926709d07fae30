// Package schedule says when requests are due: the intended send times of a run, walked by cursors, from a process of arrivals,
// its rate over time, or a recorded trace.
package schedule

// Schedule is every intended send time of a run, as a recipe: walk it with a cursor, as often as needed.
type Schedule struct {
	process  process
	course   course
	seed     uint64
	From, To int64   // the measured window, ns from the start; nothing is scheduled at or after its end
	Highest  float64 // requests/s that the rate rises to; a mean, where chance spaces them
}

// New makes the recipe of an arrival that Check has passed, with its warm-up and its measured window in seconds.
// A *mistake.Error says what of it cannot be carried out.
func New(a *Arrival, warmupS, durationS float64, seed uint64) (Schedule, error) {
	s := Schedule{seed: seed, From: int64(Seconds(warmupS))}
	s.To = s.From + int64(Seconds(durationS))
	s.course = newCourse(a.Shape, a.SteadyWarmup, float64(s.From), float64(s.To))
	if a.Process == "replay" {
		var err error
		s.process, s.Highest, err = newReplay(a, &s)
		return s, err
	}
	s.process = newProcess(a)
	for _, phase := range s.course {
		s.Highest = max(s.Highest, a.Rate*phase.highest())
	}
	return s, nil
}

// Measured says whether a request due at this time counts: warm-up requests are sent but not counted.
func (s *Schedule) Measured(at int64) bool { return at >= s.From && at < s.To }

// Walk returns a cursor before the first request. Cursors are values: a copy is an independent walker.
func (s *Schedule) Walk() Cursor { return s.Share(0, 1) }

// Share returns a cursor before the first request that falls to one of several threads: every request n with
// n mod threads = thread. The shares of all threads are together exactly the schedule, whatever their number, and
// walking a share costs what the share costs, not the whole (except for zipf, whose gaps can only be added up).
func (s *Schedule) Share(thread, threads uint64) Cursor {
	return Cursor{Schedule: s, upcoming: thread, stride: threads}
}

// Span counts the schedule's requests and says when the first and the last are due.
func (s *Schedule) Span() (span ArrivalSpan) {
	const leap = 1024
	first, last := s.Walk(), s.Share(0, leap)
	if !first.Next() {
		return span
	}
	for ahead := last; ahead.Next(); {
		last = ahead
	}
	// From the last request that a leap reaches, step by step.
	for last.stride, last.upcoming = 1, last.N; last.Next(); {
		span = ArrivalSpan{int64(last.N) + 1, first.At, last.At}
	}
	return span
}

// ArrivalSpan says how many arrivals a schedule has and when the first and the last are due, ns from the start.
type ArrivalSpan struct {
	Count   int64 `json:"count"`
	FirstNs int64 `json:"first_ns"`
	LastNs  int64 `json:"last_ns"`
}

// Cursor stands on one request of a schedule.
type Cursor struct {
	Schedule *Schedule
	upcoming uint64 // the next request's number
	stride   uint64 // from one request to the next
	memory   memory
	phase    int    // phase of the course that the request falls into
	N        uint64 // the request's number
	At       int64  // its due time, whole ns
}

// Next steps to the next request; false when the schedule has ended.
func (c *Cursor) Next() bool {
	exact := c.Schedule.process.due(c, c.upcoming)
	// The time is exact to a thousandth of a ns, which may be the other side of a whole one: never go back.
	c.N, c.At = c.upcoming, max(c.At, int64(c.Schedule.course.when(exact, &c.phase)))
	c.upcoming += c.stride
	return c.At < c.Schedule.To
}

// Arrivals counts how many requests of a share were due between `from` and a time that only moves forward.
type Arrivals struct {
	Cursor
	From    int64
	count   int64
	pending bool // the share stands on a request that is not counted yet
	ended   bool
}

func (a *Arrivals) Until(t int64) int64 {
	for !a.ended {
		if !a.pending {
			if a.pending = a.Next(); !a.pending {
				a.ended = true
				break
			}
		}
		if a.At > t {
			break
		}
		if a.At >= a.From {
			a.count++
		}
		a.pending = false
	}
	return a.count
}
