package load

import (
	"errors"

	"loadstone.dev/stone/load/request"
)

// session is an operation of several steps under way.
type session struct {
	operation *request.Compiled
	n         uint64 // the number of its arrival
	step      int    // the one that is under way or next
	measured  bool
	values    [][]byte // what answers left for later steps, by slot
}

var errNotExtracted = errors.New("the answer lacks a value that later steps need")

// begin makes a session of a request that is the first step of one.
func (t *loadThread) begin(r *rendered) *session {
	if r.begins == nil {
		return r.session
	}
	return &session{operation: r.begins, n: r.n, measured: r.measured}
}

// advance takes what the answer to a step left, and plans the next step, if there is one. It returns an error
// if a value is missing.
func (t *loadThread) advance(x *exchange, answer *request.Response, at int64) error {
	s := x.session
	for _, e := range s.operation.Steps[s.step].Extract {
		for len(s.values) <= e.Slot {
			s.values = append(s.values, nil)
		}
		value, found := e.From(answer.Head, answer.Body, s.values[e.Slot][:0])
		if !found {
			return errNotExtracted
		}
		s.values[e.Slot] = value
	}
	if s.step++; s.step == len(s.operation.Steps) {
		return nil
	}
	next := t.request()
	data, think := t.mix.Later(next.data[:0], s.operation, s.n, s.step, s.values)
	*next = rendered{
		n: s.n, at: at + think, op: s.operation.First + int32(s.step), measured: s.measured, session: s, client: x.client, data: data,
	}
	t.recorder.due(next.op, next.at, next.measured)
	t.turns.add(next)
	return nil
}

// abandon notes that the steps after the present one will never be sent.
func (t *loadThread) abandon(s *session, cause error, at int64) {
	if !s.measured {
		return
	}
	for s.step++; s.step < len(s.operation.Steps); s.step++ {
		op := s.operation.First + int32(s.step)
		t.recorder.due(op, at, true)
		t.recorder.skipped(s.n, op, at, cause)
	}
}
