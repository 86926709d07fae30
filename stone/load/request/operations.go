package request

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/schedule"
)

// Compiled is an Operation ready to render: one step, or those of a session.
type Compiled struct {
	name   string
	weight float64
	First  int32 // the kind of its first step; those of the others follow
	Steps  []*step
}

// step is one request of an operation, what its answer leaves for later ones, and the pause before it.
type step struct {
	*template
	Kind    *Kind
	Extract []extraction
	think   *Think
}

// extraction is a value that a step's answer leaves for later steps.
type extraction struct {
	Slot int // in the session's values
	extractor
}

// Terms are what all requests of a plan have in common.
type Terms struct {
	Protocol string
	Host     string // host:port of the target
	Closing  bool   // each request is its connection's last
}

// Compile checks the operations of a plan, fills in what may be left out, and makes them ready to render.
func Compile(operations []Operation, t Terms) ([]*Compiled, error) {
	var all []*Compiled
	seen, total, kinds := map[string]bool{}, 0.0, int32(0)
	for i := range operations {
		op, key := &operations[i], fmt.Sprintf("operations[%d]", i)
		if op.Weight == nil {
			op.Weight = new(1.0)
		}
		switch {
		case !operationForm.MatchString(op.Name):
			return nil, mistake.New(key+".name", "%q: give letters, digits and . _ : / - only", op.Name)
		case seen[op.Name]:
			return nil, mistake.New(key+".name", "%q is there twice", op.Name)
		case *op.Weight < 0 || *op.Weight > 1e12:
			return nil, mistake.New(key+".weight", "%g is out of range; give 0 to 1e12", *op.Weight)
		}
		seen[op.Name] = true
		total += *op.Weight
		one, err := t.one(op, key)
		if err != nil {
			return nil, err
		}
		one.weight, one.First = *op.Weight, kinds
		kinds += int32(len(one.Steps))
		all = append(all, one)
	}
	if total <= 0 {
		return nil, mistake.New("operations", "all weights are 0; give one that is not")
	}
	return all, nil
}

// one checks one operation of the plan; key is its place.
func (t Terms) one(op *Operation, key string) (*Compiled, error) {
	o := &Compiled{name: op.Name}
	if len(op.Steps) == 0 {
		if !op.given() {
			return nil, mistake.New(key, "give a path, or steps")
		}
		s, err := t.compileStep(op.Name, &op.Request, nil, nil, key)
		o.Steps = []*step{s}
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
		case !operationForm.MatchString(given.Name):
			return nil, mistake.New(key+".name", "%q: give letters, digits and . _ : / - only", given.Name)
		case seen[given.Name]:
			return nil, mistake.New(key+".name", "%q is there twice", given.Name)
		}
		seen[given.Name] = true
		s, err := t.compileStep(op.Name+"."+given.Name, &given.Request, shared, extracted, key)
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
		o.Steps = append(o.Steps, s)
	}
	return o, nil
}

func (t Terms) compileStep(name string, given *Request, session *fieldSet, extracted []string, key string) (*step, error) {
	if err := given.check(key, t.Protocol); err != nil {
		return nil, err
	}
	s := &step{Kind: &Kind{Name: name, HeadOnly: given.Method == "HEAD"}}
	var err error
	if s.template, err = compileTemplate(given, t, key, session, extracted); err != nil {
		return nil, err
	}
	if s.Kind.Expect, err = compileExpect(given.Expect, key+".expect"); err != nil {
		return nil, err
	}
	if s.Kind.Expect.needsBody() {
		s.Kind.Keep = BodyLimit
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
		s.Extract = append(s.Extract, extraction{slot, e})
		if e.needsBody() {
			s.Kind.Keep = BodyLimit
		} else {
			s.Kind.KeepHead = true
		}
	}
	return names, nil
}

// Mix draws which operation request n is, and its fields: a pure function of the seed and n, so requests are
// the same whatever the number of threads, and a request that was never rendered still has its operation.
type Mix struct {
	operations []*Compiled
	cumulative []float64
	seed       uint64
	source     *rand.PCG
	random     *rand.Rand
	scratch    values
}

// NewMix returns a fresh mix of operations; one goroutine may use it at a time.
func NewMix(operations []*Compiled, seed uint64) *Mix {
	m := &Mix{operations: operations, seed: seed, source: rand.NewPCG(0, 0)}
	m.random = rand.New(m.source)
	total := 0.0
	for _, o := range operations {
		total += o.weight
		m.cumulative = append(m.cumulative, total)
	}
	return m
}

// at makes the random numbers those of a step of request n.
func (m *Mix) at(n uint64, step int) {
	m.source.Seed(m.seed+uint64(step)*0xd6e8feb86659fd93, schedule.Scatter(n))
}

// Operation draws the operation of request n and leaves the random numbers ready for its fields.
func (m *Mix) Operation(n uint64) *Compiled {
	m.at(n, 0)
	if len(m.operations) == 1 {
		return m.operations[0]
	}
	return m.operations[pick(m.cumulative, m.random)]
}

// Render appends the first request of the operation of request n.
func (m *Mix) Render(to []byte, n uint64) ([]byte, *Compiled) {
	o := m.Operation(n)
	m.scratch.begin(n, m.random)
	m.scratch.draw(o.Steps[0].fields.drawers)
	return o.Steps[0].render(to, &m.scratch, nil), o
}

// Later renders a later step of a session that began with request n, and draws the pause before it, in ns. extracted are
// the values that answers have left. The session's own fields are drawn again, from the random numbers of the first
// step, and so come out the same.
func (m *Mix) Later(to []byte, o *Compiled, n uint64, at int, extracted [][]byte) (data []byte, think int64) {
	step := o.Steps[at]
	fields, shared := step.fields.drawers, step.fields.shared
	m.Operation(n)
	m.scratch.begin(n, m.random)
	m.scratch.draw(fields[:shared])
	m.at(n, at)
	think = step.think.draw(m.random)
	m.scratch.draw(fields[shared:])
	return step.render(to, &m.scratch, extracted), think
}

// Longest is the length of the longest first request of the mix.
func (m *Mix) Longest() int {
	longest := 0
	for _, o := range m.operations {
		longest = max(longest, o.Steps[0].maximum)
	}
	return longest
}

// StepsPerArrival is how many requests an arrival means on average.
func (m *Mix) StepsPerArrival() float64 {
	mean, before := 0.0, 0.0
	for i, o := range m.operations {
		mean += (m.cumulative[i] - before) * float64(len(o.Steps))
		before = m.cumulative[i]
	}
	return mean / before
}
