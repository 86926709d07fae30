package request

import "loadstone.dev/stone/load/mistake"

import "strconv"

const (
	sequenceStart = 1_000_000_000_000_000
	sequenceStep  = 1_000_000
)

// sequence is start + step*n for request n: no two requests have the same, whichever thread sends them. Requests
// of other operations take numbers too, so it has gaps in a mix.
type sequence struct{ start, step int64 }

func compileSequence(f *Field, key string, _ *fieldSet) (drawer, error) {
	s := sequence{start: 0, step: 1}
	var err error
	if f.Start != "" {
		if s.start, err = wholeNumber(f.Start, key+".start", -sequenceStart, sequenceStart); err != nil {
			return nil, err
		}
	}
	if f.Step != "" {
		if s.step, err = wholeNumber(f.Step, key+".step", -sequenceStep, sequenceStep); err != nil {
			return nil, err
		}
	}
	if s.step == 0 {
		return nil, mistake.New(key+".step", "0 gives every request the same; use kind choice with one value")
	}
	return s, nil
}

func (s sequence) draw(v *values) int64 {
	value := s.start + s.step*int64(v.n)
	v.text = strconv.AppendInt(v.text, value, 10)
	return value
}

func (s sequence) width() int { return len("-9223372036854775808") }
