package request

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"loadstone.dev/stone/load/mistake"
)

// number is min + k*step for a uniform k in [0, steps], in units of the last decimal place: no rounding.
type number struct {
	min, step, steps int64
	places           int
	not              int // slot of the whole number that this one must differ from, -1 for none
}

func compileNumber(f *Field, key string, fields *fieldSet) (drawer, error) {
	step := f.Step
	if f.Kind == "integer" {
		step = "1"
	}
	var values [3]float64
	places := 0
	for i, given := range []struct {
		key   string
		value json.Number
	}{{"min", f.Min}, {"max", f.Max}, {"step", step}} {
		value, err := given.value.Float64()
		if err != nil {
			return nil, mistake.New(key+"."+given.key, "%q: give a number", given.value)
		}
		plain := strconv.FormatFloat(value, 'f', -1, 64)
		if dot := strings.IndexByte(plain, '.'); dot >= 0 && given.key != "max" {
			places = max(places, len(plain)-dot-1)
		}
		values[i] = value
	}
	scale := math.Pow10(places)
	switch {
	case places > 9 || math.Abs(values[0])*scale > 1e15 || math.Abs(values[1])*scale > 1e15:
		return nil, mistake.New(key, "too many digits: at most 9 decimals and 15 digits in all")
	case f.Kind == "integer" && (places > 0 || values[1] != math.Trunc(values[1])):
		return nil, mistake.New(key, "min %s, max %s: an integer's limits are integers; use kind decimal", f.Min, f.Max)
	case values[2] <= 0:
		return nil, mistake.New(key+".step", "%s is not above 0", step)
	case values[1] < values[0]:
		return nil, mistake.New(key+".max", "%s is less than min (%s)", f.Max, f.Min)
	}
	n := number{min: int64(math.Round(values[0] * scale)), step: int64(math.Round(values[2] * scale)), places: places, not: -1}
	n.steps = int64(math.Floor((values[1]-values[0])/values[2] + 1e-9))
	if f.Not == "" {
		return n, nil
	}
	other, slot := fields.find(f.Not)
	switch n.not = slot; {
	case !isWhole(other):
		return nil, mistake.New(key+".not", "%q is not an integer, a sequence or a zipf with n of this operation (or they wait for each other)", f.Not)
	case n.steps == 0:
		return nil, mistake.New(key+".not", "min %s = max leaves no value when it must differ from %s", f.Min, f.Not)
	}
	return n, nil
}

// isWhole tells whether what the drawer returns is its value.
func isWhole(d drawer) bool {
	switch d := d.(type) {
	case number:
		return d.places == 0
	case zipf:
		return d.values == nil
	case sequence, sum:
		return true
	}
	return false
}

func (n number) draw(v *values) int64 {
	count, other := n.steps+1, int64(math.MaxInt64)
	if n.not >= 0 && v.numbers[n.not] >= n.min && v.numbers[n.not] <= n.min+n.steps {
		// One value less: those from the other's on move up by one, so that nothing is drawn twice.
		count, other = n.steps, v.numbers[n.not]
	}
	value := n.min + n.step*v.random.Int64N(count)
	if value >= other {
		value++
	}
	v.text = n.append(v.text, value)
	return value
}

func (n number) append(to []byte, value int64) []byte {
	if value < 0 {
		to, value = append(to, '-'), -value
	}
	if n.places == 0 {
		return strconv.AppendInt(to, value, 10)
	}
	scale := int64(math.Pow10(n.places))
	to = append(strconv.AppendInt(to, value/scale, 10), '.')
	for digit := scale / 10; digit > 0; digit /= 10 {
		to = append(to, byte('0'+value/digit%10))
	}
	return to
}

func (n number) width() int {
	return max(len(n.append(nil, n.min)), len(n.append(nil, n.min+n.step*n.steps))) + 1
}
