package load

import "loadstone.dev/stone/load/request"

// leastAhead is how many requests are made ahead however long they are.
const leastAhead = 16

// rendering is the source for one thread of a plan's operations.
type rendering struct{ mix *request.Mix }

// make renders the first step of request r.n.
func (s rendering) make(r *rendered) error {
	data, o := s.mix.Render(r.data[:0], r.n)
	if r.data, r.op = data, o.First; len(o.Steps) > 1 {
		r.begins = o
	}
	return nil
}

func (s rendering) ahead() int           { return max(ringBytes/s.mix.Longest(), leastAhead) }
func (s rendering) wanted() chan *answer { return nil }
func (s rendering) see(*answer) error    { return nil }
