package load

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Field says how one value of a request is drawn. Which keys it may have depends on its kind:
//
//	decimal  min, max, step          min, min+step ... up to max
//	integer  min, max                both included
//	choice   values, weights         weights may be left out
//	date     from, to                both included, YYYY-MM-DD
//	date     after, min_days, to and/or max_days   at least min_days (1) after the date field `after`
type Field struct {
	Kind    string      `json:"kind"`
	Min     json.Number `json:"min"`
	Max     json.Number `json:"max"`
	Step    json.Number `json:"step"`
	Values  []string    `json:"values"`
	Weights []float64   `json:"weights"`
	From    string      `json:"from"`
	To      string      `json:"to"`
	After   string      `json:"after"`
	MinDays *int        `json:"min_days"`
	MaxDays *int        `json:"max_days"`
}

// given lists the keys that the plan sets.
func (f *Field) given() []string {
	var keys []string
	for key, set := range map[string]bool{
		"min": f.Min != "", "max": f.Max != "", "step": f.Step != "", "values": f.Values != nil,
		"weights": f.Weights != nil, "from": f.From != "", "to": f.To != "", "after": f.After != "",
		"min_days": f.MinDays != nil, "max_days": f.MaxDays != nil,
	} {
		if set {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return keys
}

// A drawer appends a random value of its field. drawn holds the day numbers of the date fields drawn before it.
type drawer interface {
	draw(to []byte, random *rand.Rand, drawn []int) (value []byte, day int)
	width() int // the longest value's length
}

// compileField checks a field. dates holds the latest day of each date field known so far, by name, and
// slots the place of each field in `drawn`.
func compileField(f Field, key string, slots map[string]int, latest map[string]int) (drawer, error) {
	allowed := map[string]string{
		"decimal": "min max step", "integer": "min max", "choice": "values weights",
		"date": "from to after min_days max_days",
	}
	keys, known := allowed[f.Kind]
	if !known {
		return nil, bad(key+".kind", "%q is not known; give decimal, integer, choice or date", f.Kind)
	}
	for _, given := range f.given() {
		if !strings.Contains(" "+keys+" ", " "+given+" ") {
			return nil, bad(key+"."+given, "not a key of kind %s (it has: %s)", f.Kind, keys)
		}
	}
	switch f.Kind {
	case "choice":
		return compileChoice(f, key)
	case "date":
		return compileDate(f, key, slots, latest)
	}
	return compileNumber(f, key)
}

// number is min + k*step for a uniform k in [0, steps], in units of the last decimal place: no rounding.
type number struct {
	min, step, steps int64
	places           int
}

func compileNumber(f Field, key string) (drawer, error) {
	if f.Kind == "integer" {
		f.Step = "1"
	}
	var values [3]float64
	places := 0
	for i, given := range []struct {
		key   string
		value json.Number
	}{{"min", f.Min}, {"max", f.Max}, {"step", f.Step}} {
		value, err := given.value.Float64()
		if err != nil {
			return nil, bad(key+"."+given.key, "%q: give a number", given.value)
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
		return nil, bad(key, "too many digits: at most 9 decimals and 15 digits in all")
	case f.Kind == "integer" && (places > 0 || values[1] != math.Trunc(values[1])):
		return nil, bad(key, "min %s, max %s: an integer's limits are integers; use kind decimal", f.Min, f.Max)
	case values[2] <= 0:
		return nil, bad(key+".step", "%s is not above 0", f.Step)
	case values[1] < values[0]:
		return nil, bad(key+".max", "%s is less than min (%s)", f.Max, f.Min)
	}
	n := number{min: int64(math.Round(values[0] * scale)), step: int64(math.Round(values[2] * scale)), places: places}
	n.steps = int64(math.Floor((values[1]-values[0])/values[2] + 1e-9))
	return n, nil
}

func (n number) draw(to []byte, random *rand.Rand, _ []int) ([]byte, int) {
	return n.append(to, n.min+n.step*random.Int64N(n.steps+1)), 0
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

// choice is one of some values, each with its probability.
type choice struct {
	values     [][]byte
	cumulative []float64
}

func compileChoice(f Field, key string) (drawer, error) {
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

func (c choice) draw(to []byte, random *rand.Rand, _ []int) ([]byte, int) {
	return append(to, c.values[pick(c.cumulative, random)]...), 0
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

// date is a day in [first, last], day numbers since 1970; with `after`, first counts from that field's day
// and maxDays (if not negative) bounds it from there too.
type date struct {
	first, last int
	after       int // slot of the earlier date field, -1 for none
	maxDays     int
}

func compileDate(f Field, key string, slots, latest map[string]int) (drawer, error) {
	d := date{after: -1, first: 1, maxDays: -1, last: math.MaxInt32}
	var err error
	if f.To != "" {
		if d.last, err = day(f.To, key+".to"); err != nil {
			return nil, err
		}
	}
	if f.After == "" {
		if f.MinDays != nil || f.MaxDays != nil || f.To == "" {
			return nil, bad(key, "give from and to; min_days and max_days go with after")
		}
		if d.first, err = day(f.From, key+".from"); err == nil && d.last < d.first {
			err = bad(key+".to", "%s is before from (%s)", f.To, f.From)
		}
		return d, err
	}
	slot, known := slots[f.After]
	lastBefore, isDate := latest[f.After]
	switch {
	case !known || !isDate:
		return nil, bad(key+".after", "%q is not a date field of this operation (or they wait for each other)", f.After)
	case f.From != "":
		return nil, bad(key+".from", "give from or after, not both")
	case f.To == "" && f.MaxDays == nil:
		return nil, bad(key, "give to or max_days: the last day there is")
	}
	d.after = slot
	if f.MinDays != nil {
		d.first = *f.MinDays
	}
	if f.MaxDays != nil {
		d.maxDays = *f.MaxDays
	}
	if d.first < 0 || f.MaxDays != nil && d.maxDays < d.first {
		return nil, bad(key+".min_days", "min_days %d, max_days %d: want 0 <= min_days <= max_days", d.first, d.maxDays)
	}
	if lastBefore+d.first > d.last {
		return nil, bad(key+".to", "%s is less than %d days after the latest %s", f.To, d.first, f.After)
	}
	return d, nil
}

func day(text, key string) (int, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, bad(key, "%q is not a date; give YYYY-MM-DD", text)
	}
	return int(t.Unix() / 86400), nil
}

// latestDay is the last day that the field can take, for the fields that come after it.
func (d date) latestDay(latest int) int {
	if d.after < 0 || d.maxDays < 0 {
		return d.last
	}
	return min(d.last, latest+d.maxDays)
}

func (d date) draw(to []byte, random *rand.Rand, drawn []int) ([]byte, int) {
	first, last := d.first, d.last
	if d.after >= 0 {
		first += drawn[d.after]
		if d.maxDays >= 0 {
			last = min(last, drawn[d.after]+d.maxDays)
		}
	}
	chosen := first + random.IntN(last-first+1)
	return time.Unix(int64(chosen)*86400, 0).UTC().AppendFormat(to, time.DateOnly), chosen
}

func (d date) width() int { return len(time.DateOnly) }
