package load

import (
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/schedule"
)

// sender has the requests that a thread is to send, in the order in which they are due.
type sender struct {
	number   uint64 // number of this thread among the `total` of all load workers
	total    uint64
	schedule schedule.Schedule
	source   source
	numbers  numbering // numbers its requests
	ring     *ring
	turns    turns        // what goes out besides the ring's
	mix      *request.Mix // renders the later steps of sessions; nil for a script
	clients  []client     // closed loop: those that this thread plays; none: open loop
	counted  bool         // closed loop: it ends by the number of requests
	think    int64        // the clients' pause, ns
	timeout  int64
	abandons bool // what is past its timeout before it can be sent is not sent

	sent          uint64 // requests taken from the ring
	taken         int64  // those of them that are measured
	starved       int64  // measured requests that were due before they were made
	emptyAt       int64  // when the ring was last seen to be empty, with more to come
	awaitsRequest bool   // it is, and a request is awaited

	spareRequests []*rendered // used again, so that a request costs no allocation
}

// enter gives every closed-loop client its first turn: at its first slot, or one after the other over the warm-up.
func (s *sender) enter() {
	for i := range s.clients {
		c := &s.clients[i]
		at := s.schedule.From * int64(i) / int64(len(s.clients))
		if c.interval > 0 {
			at, _ = c.turn(0, s.schedule.From, s.schedule.To)
		}
		s.admit(c, at)
	}
}

// admit gives a client its next turn.
func (s *sender) admit(c *client, at int64) {
	turn := s.request()
	*turn = rendered{at: at, client: c, data: turn.data}
	s.turns.add(turn)
}

// measured says whether a client's request counts that is due at this time: in the window, or after the uncounted ones.
func (s *sender) measured(c *client, at int64) bool { return c.warm == 0 && s.schedule.Measured(at) }

// due returns the request that is to go now, nil if there is none; and the turn that it uses up, if it does: itself,
// or that of a client.
func (s *sender) due(now int64) (r, turn *rendered) {
	for {
		if turn = s.turns.first(); turn != nil && (turn.at > now || s.closed() && turn.at >= s.schedule.To) {
			turn = nil
		}
		if s.closed() && (turn == nil || turn.session != nil) {
			return turn, turn
		}
		switch r = s.supply(now); {
		case s.closed():
			if r == nil {
				return nil, nil
			}
			r.at, r.client, r.measured = turn.at, turn.client, s.measured(turn.client, turn.at)
			if r.delay == 0 {
				return r, turn
			}
			s.turns.pop() // the client waits, and takes the next request then
			turn.at += r.delay
			r.delay = 0
			s.turns.add(turn)
		case r == nil || r.at > now || turn != nil && turn.at < r.at:
			return turn, turn
		case r.delay == 0:
			return r, nil
		default:
			later := s.request()
			data := append(later.data[:0], r.data...)
			*later = *r
			later.at, later.delay, later.data = r.at+r.delay, 0, data
			s.turns.add(later)
			s.release(r)
		}
	}
}

// closed says whether clients send, each after its last answer, rather than a schedule.
func (s *sender) closed() bool { return len(s.clients) > 0 }

// mayGo says whether a turn will be taken at all. A closed loop ends with the window, or when a script has stopped.
func (s *sender) mayGo(turn *rendered) bool {
	return !s.closed() || turn.at < s.schedule.To && (turn.session != nil || !s.ring.exhausted())
}

// supply is the ring's next request, nil if it is not made yet, or never will be.
func (s *sender) supply(now int64) *rendered {
	r := s.ring.peek()
	empty := r == nil && !s.ring.exhausted()
	if empty {
		s.emptyAt = now
	}
	if empty && !s.awaitsRequest && s.ring.onDemand {
		s.ring.call()
	}
	s.awaitsRequest = empty
	return r
}

// release lets go of a request of the ring, that has gone out or waits elsewhere now.
func (s *sender) release(r *rendered) {
	s.sent++
	if r.measured {
		s.taken++
		if r.at <= s.emptyAt && !s.ring.onDemand { // it was not there when it was due
			s.starved++
		}
	}
	s.ring.pop()
}

// request returns a request to be filled in, whose data may be written over.
func (s *sender) request() *rendered {
	last := len(s.spareRequests) - 1
	if last < 0 {
		return &rendered{}
	}
	r := s.spareRequests[last]
	s.spareRequests = s.spareRequests[:last]
	return r
}

// share walks the requests of this thread.
func (s *sender) share() schedule.Cursor { return s.schedule.Share(s.number, s.total) }

// firstUnsent is the number of the first request of its share that this thread has not taken.
func (s *sender) firstUnsent() uint64 { return s.number + s.sent*s.total }
