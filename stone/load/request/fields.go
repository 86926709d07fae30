package request

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"strings"

	"loadstone.dev/stone/load/mistake"
)

// Field says how one value of a request is drawn. Which keys it may have depends on its kind:
//
//	integer   min, max               both included; not: a whole-number field that it differs from
//	decimal   min, max, step         min, min+step ... up to max
//	choice    values, weights        weights may be left out; not: a choice of the same values that it differs from
//	zipf      n or values, alpha     rank 1..n, or the value of that rank, as k^-alpha
//	text      length, or min and max; alphabet   alnum (default), lower, digits, hex, words
//	sum       of, add                that field of whole numbers, plus a number
//	sequence  start (0), step (1)    start + step*n, n the request's number
//	file      path, column, order    a line, or a value of a CSV file's column; random (default) or sequence
//	repeat    of, min and max, separator, prefix, suffix   so many draws of another field, joined
//	repeat    of, as_many_as, ...    as many as that other repeat has
//	date      from, to               both included, YYYY-MM-DD
//	date      after, min_days, to and/or max_days   at least min_days (1) after the date field `after`
type Field struct {
	Kind      string      `json:"kind"`
	Min       json.Number `json:"min"`
	Max       json.Number `json:"max"`
	Step      json.Number `json:"step"`
	Start     json.Number `json:"start"`
	Not       string      `json:"not"`
	Values    []string    `json:"values"`
	Weights   []float64   `json:"weights"`
	N         int64       `json:"n"`
	Alpha     float64     `json:"alpha"`
	Length    int64       `json:"length"`
	Alphabet  string      `json:"alphabet"`
	Path      string      `json:"path"`
	Column    string      `json:"column"`
	Order     string      `json:"order"`
	Of        string      `json:"of"`
	Add       json.Number `json:"add"`
	AsManyAs  string      `json:"as_many_as"`
	Separator string      `json:"separator"`
	Prefix    string      `json:"prefix"`
	Suffix    string      `json:"suffix"`
	From      string      `json:"from"`
	To        string      `json:"to"`
	After     string      `json:"after"`
	MinDays   *int        `json:"min_days"`
	MaxDays   *int        `json:"max_days"`
}

// kinds has the keys of each kind of field, and what compiles it.
var kinds = map[string]struct {
	keys    string
	compile func(f *Field, key string, fields *fieldSet) (drawer, error)
}{
	"integer":  {"min max not", compileNumber},
	"decimal":  {"min max step", compileNumber},
	"choice":   {"values weights not", compileChoice},
	"zipf":     {"n values alpha", compileZipf},
	"text":     {"length min max alphabet", compileText},
	"sum":      {"of add", compileSum},
	"sequence": {"start step", compileSequence},
	"file":     {"path column order", compileFile},
	"repeat":   {"of min max as_many_as separator prefix suffix", compileRepeat},
	"date":     {"from to after min_days max_days", compileDate},
}

const kindNames = "integer, decimal, choice, zipf, text, sum, sequence, file, repeat or date"

// A drawer appends a random value of its field to v.text. It returns the value as a number that fields which
// refer to it need: a date's day since 1970, a choice's index, how often a repeat did. It holds no state: mixes
// share it.
type drawer interface {
	draw(v *values) int64
	width() int // the longest value's length
}

// values is what the fields of one request are drawn from and into.
type values struct {
	n       uint64     // the request's number
	random  *rand.Rand // at the state that n gives it
	text    []byte     // the values, one after the other
	ends    []int      // where each ends in text
	numbers []int64    // what each draw returned
}

// of returns the value in a field's slot.
func (v *values) of(field int) []byte {
	from := 0
	if field > 0 {
		from = v.ends[field-1]
	}
	return v.text[from:v.ends[field]]
}

// fieldSet is the compiled fields of one request, each after those that it refers to.
type fieldSet struct {
	slots   map[string]int // the place of each field in drawers
	drawers []drawer
	shared  int // so many, the first, are the session's: the same in all its steps
}

// find returns a field that is compiled already; the drawer is nil if there is none of this name.
func (s *fieldSet) find(name string) (drawer, int) {
	slot, known := s.slots[name]
	if !known {
		return nil, -1
	}
	return s.drawers[slot], slot
}

// begin makes the values those of request n: none yet.
func (v *values) begin(n uint64, random *rand.Rand) {
	v.n, v.random = n, random
	v.text, v.ends, v.numbers = v.text[:0], v.ends[:0], v.numbers[:0]
}

// draw draws each of the fields once, after those drawn before.
func (v *values) draw(fields []drawer) {
	for _, field := range fields {
		number := field.draw(v)
		v.ends, v.numbers = append(v.ends, len(v.text)), append(v.numbers, number)
	}
}

// compileFields puts the fields into an order in which each comes after those it refers to. The order is by
// name otherwise, so that a seed means the same requests whatever the file's order. session has the fields that
// come before all of them, nil for none.
func compileFields(given map[string]Field, session *fieldSet, key string) (*fieldSet, error) {
	s := &fieldSet{slots: map[string]int{}}
	if session != nil {
		s.drawers, s.slots, s.shared = slices.Clone(session.drawers), maps.Clone(session.slots), len(session.drawers)
	}
	waiting := make([]string, 0, len(given))
	for name := range given {
		if _, taken := s.slots[name]; taken {
			return nil, mistake.New(key+".fields."+name, "is the name of a field of the session; give it another")
		}
		waiting = append(waiting, name)
	}
	sort.Strings(waiting)
	for len(waiting) > 0 {
		// The first that can be compiled; if they all wait for each other, the first says so.
		next := max(0, slices.IndexFunc(waiting, func(name string) bool { return s.ready(given[name]) }))
		name := waiting[next]
		field := given[name]
		d, err := compileField(&field, key+".fields."+name, s)
		if err != nil {
			return nil, err
		}
		s.slots[name] = len(s.drawers)
		s.drawers = append(s.drawers, d)
		waiting = slices.Delete(waiting, next, next+1)
	}
	return s, nil
}

// ready tells whether all fields that f refers to are compiled.
func (s *fieldSet) ready(f Field) bool {
	for _, name := range []string{f.After, f.Not, f.Of, f.AsManyAs} {
		if _, slot := s.find(name); name != "" && slot < 0 {
			return false
		}
	}
	return true
}

func compileField(f *Field, key string, fields *fieldSet) (drawer, error) {
	kind, known := kinds[f.Kind]
	if !known {
		return nil, mistake.New(key+".kind", "%q is not known; give %s", f.Kind, kindNames)
	}
	for _, given := range f.given() {
		if !strings.Contains(" "+kind.keys+" ", " "+given+" ") {
			return nil, mistake.New(key+"."+given, "not a key of kind %s (it has: %s)", f.Kind, kind.keys)
		}
	}
	return kind.compile(f, key, fields)
}

// given lists the keys that the plan sets, except kind.
func (f *Field) given() []string {
	var keys []string
	value := reflect.ValueOf(*f)
	for i := range value.NumField() {
		if key := value.Type().Field(i).Tag.Get("json"); key != "kind" && !value.Field(i).IsZero() {
			keys = append(keys, key)
		}
	}
	return keys
}

// withLineEnd names a field in a template whose value can have a line end in it; empty if there is none.
func (s *fieldSet) withLineEnd(template string) string {
	for _, name := range placeholder.FindAllStringSubmatch(template, -1) {
		if d, _ := s.find(name[1]); hasLineEnd(d) {
			return name[1]
		}
	}
	return ""
}

func hasLineEnd(d drawer) bool {
	var texts [][]byte
	switch d := d.(type) {
	case choice:
		texts = d.values
	case zipf:
		texts = d.values
	case repeat:
		if hasLineEnd(d.of) {
			return true
		}
		texts = [][]byte{d.separator, d.prefix, d.suffix}
	}
	return slices.ContainsFunc(texts, func(text []byte) bool { return bytes.ContainsAny(text, "\r\n\x00") })
}
