package load

import (
	"fmt"
	"math/rand/v2"
)

// choice is one of some values, each with its probability.
type choice struct {
	values     [][]byte
	cumulative []float64
}

func compileChoice(f *Field, key string, _ *fieldSet) (drawer, error) {
	if len(f.Values) == 0 {
		return nil, bad(key+".values", "missing; give at least one")
	}
	if f.Weights != nil && len(f.Weights) != len(f.Values) {
		return nil, bad(key+".weights", "%d weights for %d values; give one each", len(f.Weights), len(f.Values))
	}
	c, total := choice{}, 0.0
	for i, value := range f.Values {
		weight := 1.0
		if f.Weights != nil {
			weight = f.Weights[i]
		}
		if weight < 0 {
			return nil, bad(fmt.Sprintf("%s.weights[%d]", key, i), "%g is negative", weight)
		}
		total += weight
		c.values, c.cumulative = append(c.values, []byte(value)), append(c.cumulative, total)
	}
	if total <= 0 {
		return nil, bad(key+".weights", "all are 0; give one that is not")
	}
	return c, nil
}

func (c choice) draw(v *values) int64 {
	index := pick(c.cumulative, v.random)
	v.text = append(v.text, c.values[index]...)
	return int64(index)
}

func (c choice) width() int {
	longest := 0
	for _, value := range c.values {
		longest = max(longest, len(value))
	}
	return longest
}

// pick draws an index with the probabilities that the cumulative weights say.
func pick(cumulative []float64, random *rand.Rand) int {
	x := random.Float64() * cumulative[len(cumulative)-1]
	for i, upTo := range cumulative {
		if x < upTo {
			return i
		}
	}
	return len(cumulative) - 1
}
