package load

import "loadstone.dev/stone/load/result"

import "loadstone.dev/stone/load/request"

// offers is what the schedule itself says about the measured window: arrivals by their first kind, and by tenths of
// the window.
type offers struct {
	byKind  []int64
	batches [result.Batches]int64
	total   int64
}

// unmade is the kind of a script's requests that were never made, so that their operation is unknown.
const unmade = "unmade"

// walk visits our part of the window's arrivals up to a time, one thread's after another; op is nil for a script's.
func (r *run) walk(until int64, visit func(thread int, n uint64, at int64, op *request.Compiled)) {
	if r.plan.Closed != nil {
		return
	}
	var m *request.Mix
	if len(r.plan.compiled) > 0 {
		m = r.plan.mix()
	}
	for thread := range r.plan.Threads {
		c := r.schedule.Share(uint64(r.plan.number(thread)), uint64(r.plan.threads()))
		for c.Next() && c.At <= until {
			if !r.schedule.Measured(c.At) {
				continue
			}
			var op *request.Compiled
			if m != nil {
				op = m.Operation(c.N)
			}
			visit(thread, c.N, c.At, op)
		}
	}
}

// plannedRequests counts the requests of the window: as many for each arrival as its operation has steps.
func (r *run) plannedRequests() int64 {
	count := int64(0)
	r.walk(r.schedule.To, func(_ int, _ uint64, _ int64, op *request.Compiled) {
		if count++; op != nil {
			count += int64(len(op.Steps) - 1)
		}
	})
	return count
}

// settle closes the books: what is in flight, and what was never sent.
func (r *run) settle() offers {
	for _, t := range r.threads {
		r.end = max(r.end, t.end)
	}
	for _, t := range r.threads {
		t.leave(r.end)
	}
	offers := r.count()
	for _, t := range r.threads {
		t.recorder.log.close()
		t.recorder.turn(r.end, t.usage.latest)
		close(t.recorder.full)
	}
	return offers
}

// leave notes what is under way or waiting for its turn at the end.
func (t *loadThread) leave(end int64) {
	for x := t.inFlight.first; x != nil; x = x.later {
		if x.measured {
			t.recorder.underWay(x, end)
		}
		t.leaveSession(x.session, end)
		if x.client != nil && x.client.interval > 0 {
			t.recorder.missed += x.client.miss(min(end, t.schedule.To), t.schedule.From)
		}
	}
	for _, turn := range t.turns {
		if turn.measured && (!t.closed() || turn.session != nil) {
			t.recorder.unsent(turn.n, turn.op, turn.at, t.charge(turn.at, t.last))
		}
		t.leaveSession(turn.session, end)
	}
}

// leaveSession notes that the steps after the present one were never sent.
func (t *loadThread) leaveSession(s *session, end int64) {
	if s == nil || !s.measured {
		return
	}
	for i := s.step + 1; i < len(s.operation.Steps); i++ {
		op := s.operation.First + int32(i)
		t.recorder.due(op, end, true)
		t.recorder.unsent(s.n, op, end, result.ByGenerator{})
	}
}

// count walks the schedule up to the end. An arrival that its thread never received from its ring is unsent, with all of
// its steps.
func (r *run) count() offers {
	o := offers{}
	unknown := int32(-1)
	r.walk(r.end, func(thread int, n uint64, at int64, op *request.Compiled) {
		t := r.threads[thread]
		never := n >= t.firstUnsent()
		o.batches[t.recorder.batch(at)]++
		o.total++
		if op == nil {
			if never {
				if unknown < 0 {
					unknown = r.catalogue.Number(unmade, request.NewKind)
				}
				t.recorder.unsent(n, unknown, at, t.charge(at, t.last))
			}
			return
		}
		for len(o.byKind) <= int(op.First) {
			o.byKind = append(o.byKind, 0)
		}
		o.byKind[op.First]++
		for i := range op.Steps {
			kind := op.First + int32(i)
			if never && i > 0 {
				t.recorder.due(kind, at, true)
			}
			if never {
				t.recorder.unsent(n, kind, at, t.charge(at, t.last))
			}
		}
	})
	return o
}
