package load

import (
	"errors"
	"math/rand/v2"

	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/schedule"
)

// session is an operation of several steps under way.
type session struct {
	operation *operation
	n         uint64 // the number of its arrival
	step      int    // the one that is under way or next
	measured  bool
	values    [][]byte // what answers left for later steps, by slot
}

var errNotExtracted = errors.New("the answer lacks a value that later steps need")

// Think is a uniform pause before a step.
type Think struct {
	MinS float64 `json:"min_s"`
	MaxS float64 `json:"max_s"`
}

func (t *Think) check(key string) error {
	if t.MinS < 0 || t.MaxS < t.MinS || t.MaxS > schedule.MostSeconds {
		return mistake.New(key+".think", "min_s %g, max_s %g: want 0 <= min_s <= max_s <= %d", t.MinS, t.MaxS, schedule.MostSeconds)
	}
	return nil
}

// draw returns a pause in ns; none for a step without one.
func (t *Think) draw(random *rand.Rand) int64 {
	if t == nil {
		return 0
	}
	return int64((t.MinS + random.Float64()*(t.MaxS-t.MinS)) * 1e9)
}

// begin makes a session of a request that is the first step of one.
func (w *worker) begin(r *request) *session {
	if r.begins == nil {
		return r.session
	}
	return &session{operation: r.begins, n: r.n, measured: r.measured}
}

// advance takes what the answer to a step left, and plans the next step, if there is one. It returns an error
// if a value is missing.
func (w *worker) advance(x *exchange, answer *response, at int64) error {
	s := x.session
	for _, e := range s.operation.steps[s.step].extract {
		for len(s.values) <= e.slot {
			s.values = append(s.values, nil)
		}
		value, found := e.from(answer.head, answer.body, s.values[e.slot][:0])
		if !found {
			return errNotExtracted
		}
		s.values[e.slot] = value
	}
	if s.step++; s.step == len(s.operation.steps) {
		return nil
	}
	next := w.request()
	data, think := w.mix.later(next.data[:0], s)
	*next = request{n: s.n, at: at + think, op: s.operation.first + int32(s.step), measured: s.measured, session: s, data: data}
	w.recorder.due(next.op, next.at, next.measured)
	w.turns.add(next)
	return nil
}

// abandon notes that the steps after the present one will never be sent.
func (w *worker) abandon(s *session, cause error, at int64) {
	if !s.measured {
		return
	}
	for s.step++; s.step < len(s.operation.steps); s.step++ {
		op := s.operation.first + int32(s.step)
		w.recorder.due(op, at, true)
		w.recorder.skipped(s.n, op, at, cause)
	}
}
