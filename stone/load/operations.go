package load

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/schedule"
)

// operation is a compiled Operation: one step, or those of a session.
type operation struct {
	name  string
	first int32 // the kind of its first step; those of the others follow
	steps []*step
}

// step is one request of an operation, what its answer leaves for later ones, and the pause before it.
type step struct {
	*template
	kind    *kind
	extract []extraction
	think   *Think
}

// extraction is a value that a step's answer leaves for later steps.
type extraction struct {
	slot int // in the session's values
	extractor
}

// compile checks one operation of the plan; key is its place.
func (p *Plan) compile(op *Operation, key string) (*operation, error) {
	o := &operation{name: op.Name}
	if len(op.Steps) == 0 {
		if op.Path == "" {
			return nil, mistake.New(key, "give a path, or steps")
		}
		s, err := p.compileStep(op.Name, &op.Request, nil, nil, key)
		o.steps = []*step{s}
		return o, err
	}
	if op.given() {
		return nil, mistake.New(key, "has steps: method, path, headers, body and expect belong to them")
	}
	shared, err := compileFields(op.Fields, nil, key)
	if err != nil {
		return nil, err
	}
	var extracted []string
	seen := map[string]bool{}
	for i := range op.Steps {
		given, key := &op.Steps[i], fmt.Sprintf("%s.steps[%d]", key, i)
		switch {
		case !nameForm.MatchString(given.Name):
			return nil, mistake.New(key+".name", "%q: give letters, digits and . _ : / - only", given.Name)
		case seen[given.Name]:
			return nil, mistake.New(key+".name", "%q is there twice", given.Name)
		}
		seen[given.Name] = true
		s, err := p.compileStep(op.Name+"."+given.Name, &given.Request, shared, extracted, key)
		if err != nil {
			return nil, err
		}
		if s.think = given.Think; s.think != nil {
			if err := s.think.check(key); err != nil {
				return nil, err
			}
		}
		if extracted, err = s.compileExtract(given.Extract, extracted, key); err != nil {
			return nil, err
		}
		o.steps = append(o.steps, s)
	}
	return o, nil
}

func (p *Plan) compileStep(name string, given *Request, session *fieldSet, extracted []string, key string) (*step, error) {
	if err := given.check(key, p.Protocol); err != nil {
		return nil, err
	}
	s := &step{kind: &kind{name: name, headOnly: given.Method == "HEAD"}}
	var err error
	if s.template, err = compileTemplate(given, p.host, key, session, extracted, p.Policy == newPolicy); err != nil {
		return nil, err
	}
	if s.kind.expect, err = compileExpect(given.Expect, key+".expect"); err != nil {
		return nil, err
	}
	if s.kind.expect.needsBody() {
		s.kind.keep = bodyLimit
	}
	return s, nil
}

// compileExtract adds what the step leaves to the names that later steps may use.
func (s *step) compileExtract(given map[string]string, names []string, key string) ([]string, error) {
	extractors, err := compileExtract(given, key+".extract")
	if err != nil {
		return nil, err
	}
	names = slices.Clone(names)
	for _, e := range extractors {
		slot := slices.Index(names, e.name)
		if slot < 0 {
			slot, names = len(names), append(names, e.name)
		}
		s.extract = append(s.extract, extraction{slot, e})
		if e.needsBody() {
			s.kind.keep = bodyLimit
		} else {
			s.kind.keepHead = true
		}
	}
	return names, nil
}

// leastAhead is how many requests are made ahead however long they are.
const leastAhead = 16

// mix draws which operation request n is, and its fields: a pure function of the seed and n, so requests are
// the same whatever the number of threads, and a request that was never rendered still has its operation.
type mix struct {
	operations []*operation
	cumulative []float64
	seed       uint64
	source     *rand.PCG
	random     *rand.Rand
	scratch    values
}

// newMix returns a fresh mix of a checked plan; one goroutine may use it at a time.
func newMix(plan *Plan) *mix {
	m := &mix{operations: plan.compiled, seed: plan.Seed, source: rand.NewPCG(0, 0)}
	m.random = rand.New(m.source)
	total := 0.0
	for i := range plan.Operations {
		total += *plan.Operations[i].Weight
		m.cumulative = append(m.cumulative, total)
	}
	return m
}

// at makes the random numbers those of a step of request n.
func (m *mix) at(n uint64, step int) {
	m.source.Seed(m.seed+uint64(step)*0xd6e8feb86659fd93, schedule.Scatter(n))
}

// operation draws the operation of request n and leaves the random numbers ready for its fields.
func (m *mix) operation(n uint64) *operation {
	m.at(n, 0)
	if len(m.operations) == 1 {
		return m.operations[0]
	}
	return m.operations[pick(m.cumulative, m.random)]
}

// make renders the first step of request r.n.
func (m *mix) make(r *request) error {
	o := m.operation(r.n)
	m.scratch.begin(r.n, m.random)
	m.scratch.draw(o.steps[0].fields.drawers)
	r.data, r.op = o.steps[0].render(r.data[:0], &m.scratch, nil), o.first
	if len(o.steps) > 1 {
		r.begins = o
	}
	return nil
}

// later renders a later step of a session, and draws the pause before it, in ns. The session's own fields are
// drawn again, from the random numbers of the first step, and so come out the same.
func (m *mix) later(to []byte, s *session) (data []byte, think int64) {
	step := s.operation.steps[s.step]
	fields, shared := step.fields.drawers, step.fields.shared
	m.operation(s.n)
	m.scratch.begin(s.n, m.random)
	m.scratch.draw(fields[:shared])
	m.at(s.n, s.step)
	think = step.think.draw(m.random)
	m.scratch.draw(fields[shared:])
	return step.render(to, &m.scratch, s.values), think
}

func (m *mix) ahead() int         { return max(ringBytes/m.longest(), leastAhead) }
func (m *mix) told() chan *answer { return nil }
func (m *mix) see(*answer) error  { return nil }

// longest is the length of the longest first request of the mix.
func (m *mix) longest() int {
	longest := 0
	for _, o := range m.operations {
		longest = max(longest, o.steps[0].maximum)
	}
	return longest
}

// stepsPerArrival is how many requests an arrival means on average.
func (m *mix) stepsPerArrival() float64 {
	mean, before := 0.0, 0.0
	for i, o := range m.operations {
		mean += (m.cumulative[i] - before) * float64(len(o.steps))
		before = m.cumulative[i]
	}
	return mean / before
}
