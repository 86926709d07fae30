package request

import (
	"fmt"
	"math/rand/v2"
	"sort"

	"loadstone.dev/stone/load/mistake"
)

// choice is one of some values, each with its probability.
type choice struct {
	values     [][]byte
	cumulative []float64 // nil: all are equally likely
	not        int       // slot of the choice of the same values that this one must differ from, -1 for none
}

func compileChoice(f *Field, key string, fields *fieldSet) (drawer, error) {
	if len(f.Values) == 0 {
		return nil, mistake.New(key+".values", "missing; give at least one")
	}
	if f.Weights != nil && len(f.Weights) != len(f.Values) {
		return nil, mistake.New(key+".weights", "%d weights for %d values; give one each", len(f.Weights), len(f.Values))
	}
	c, total, largest := choice{not: -1, values: valuesOf(f)}, 0.0, 0.0
	for i, weight := range f.Weights {
		if weight < 0 {
			return nil, mistake.New(fmt.Sprintf("%s.weights[%d]", key, i), "%g is negative", weight)
		}
		total, largest = total+weight, max(largest, weight)
		c.cumulative = append(c.cumulative, total)
	}
	if f.Weights != nil && total <= 0 {
		return nil, mistake.New(key+".weights", "all are 0; give one that is not")
	}
	if f.Not == "" {
		return c, nil
	}
	other, slot := fields.find(f.Not)
	c.not = slot
	if err := c.checkNot(other); err != "" {
		return nil, mistake.New(key+".not", "%q %s", f.Not, err)
	}
	if f.Weights != nil && largest == total {
		return nil, mistake.New(key+".weights", "only one is not 0, which leaves no value when it must differ from %s", f.Not)
	}
	return c, nil
}

// checkNot returns an error if the choice cannot be made to differ from another field.
func (c choice) checkNot(other drawer) string {
	from, isChoice := other.(choice)
	if !isChoice {
		return "is not a choice of this operation (or they wait for each other)"
	}
	same, seen := len(c.values) == len(from.values), map[string]bool{}
	for i := 0; same && i < len(c.values); i++ {
		same = string(c.values[i]) == string(from.values[i])
		seen[string(c.values[i])] = true
	}
	switch {
	case !same:
		return "has other values; give both fields the same, in the same order"
	case len(seen) < len(c.values):
		return "has a value twice; give each once, and weights"
	case len(seen) == 1:
		return "has one value, which leaves none that differs"
	}
	return ""
}

func valuesOf(f *Field) [][]byte {
	values := make([][]byte, len(f.Values))
	for i, value := range f.Values {
		values[i] = []byte(value)
	}
	return values
}

func (c choice) draw(v *values) int64 {
	other := -1
	if c.not >= 0 {
		other = int(v.numbers[c.not])
	}
	index := c.pick(v.random, other)
	v.text = append(v.text, c.values[index]...)
	return int64(index)
}

// pick draws an index that is not `other` (-1: any).
func (c choice) pick(random *rand.Rand, other int) int {
	switch {
	case c.cumulative == nil && other < 0:
		return random.IntN(len(c.values))
	case c.cumulative == nil:
		index := random.IntN(len(c.values) - 1)
		if index >= other {
			index++
		}
		return index
	case other < 0:
		return pick(c.cumulative, random)
	}
	// The other's weight is cut out of the line that a number is drawn on.
	below := 0.0
	if other > 0 {
		below = c.cumulative[other-1]
	}
	weight := c.cumulative[other] - below
	x := random.Float64() * (c.cumulative[len(c.cumulative)-1] - weight)
	if x < below || other == len(c.cumulative)-1 {
		return find(c.cumulative[:other], x)
	}
	return other + 1 + find(c.cumulative[other+1:], x+weight)
}

func (c choice) width() int { return longest(c.values) }

func longest(values [][]byte) int {
	most := 0
	for _, value := range values {
		most = max(most, len(value))
	}
	return most
}

// pick draws an index with the probabilities that the cumulative weights say.
func pick(cumulative []float64, random *rand.Rand) int {
	return find(cumulative, random.Float64()*cumulative[len(cumulative)-1])
}

// find returns the first index whose cumulative weight is above x; the last with a weight if rounding left none.
func find(cumulative []float64, x float64) int {
	end := len(cumulative)
	if x >= cumulative[end-1] {
		return sort.SearchFloat64s(cumulative, cumulative[end-1])
	}
	return sort.Search(end, func(i int) bool { return x < cumulative[i] })
}
