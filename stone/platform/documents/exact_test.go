package documents_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/documents"
)

// measure is a document of numbers and text at their limits.
type measure struct {
	ID     int64              `json:"id"`
	Value  float64            `json:"value"`
	Inner  []int64            `json:"inner"`
	Text   string             `json:"text"`
	Bytes  []byte             `json:"bytes"`
	Named  map[string]float64 `json:"named"`
	Big    uint64             `json:"big"`
	Any    any                `json:"any"`
	Hidden string             `json:"-"`
}

func numbersAreExact(t *testing.T, c documents.Collection) {
	values := []float64{0.1, 1.0 / 3, 1e300, -5e-324, math.MaxFloat64, 123456789.125, 0}
	for i, id := range []int64{math.MaxInt64, math.MinInt64, 1<<62 + 1, 1 << 62, 1<<53 + 1, 1 << 31, -1} {
		want := measure{ID: id, Value: values[i], Inner: []int64{id, id - 1}, Named: map[string]float64{"a": values[i]}}
		if i%2 == 0 {
			check(t, c.Insert(t.Context(), want))
		} else {
			check(t, c.Put(t.Context(), documents.Keyed{Key: "k" + string(rune('0'+i)), Document: &want}))
		}
		for field, value := range map[string]any{"id": id, "value": values[i]} {
			var got measure
			check(t, c.Get(t.Context(), &got, documents.Equal(field, value)))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s %v: got %+v, want %+v", field, value, got, want)
			}
		}
	}
	for _, absent := range []int64{1<<62 + 2, 1<<62 - 1, math.MaxInt64 - 1, math.MinInt64 + 1, 1 << 53} {
		wantCount(t, c, 0, documents.Equal("id", absent))
	}
	wantCount(t, c, 2, documents.In("id", []int64{1<<62 + 1, 1 << 62, 1<<62 + 2}))
}

func textIsExact(t *testing.T, c documents.Collection) {
	for i, text := range []string{"", `\u0000`, "\ufffd", "\u2028<&>'\"\\", "\x01\x7f\n", "é€😀", "e\u0301"} {
		want := measure{ID: int64(i), Text: text, Bytes: []byte{0, 0xff, byte(i)}, Hidden: "a\x00"}
		check(t, c.Insert(t.Context(), want))
		want.Hidden = "" // not part of the document
		var got measure
		check(t, c.Get(t.Context(), &got, documents.Equal("text", text)))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func refusesWhatCannotBeStored(t *testing.T, c documents.Collection) {
	for place, document := range map[string]measure{
		`.text: text "a\x00" holds a NUL character`:                     {Text: "a\x00"},
		`.text: text "a\xff" is not UTF-8`:                              {Text: "a\xff"},
		`.text: text "` + strings.Repeat("a", 40) + `"... is not UTF-8`: {Text: strings.Repeat("a", 9999) + "\xff"},
		`.value: NaN is not a finite number`:                            {Value: math.NaN()},
		`.named["x"]: -Inf is not a finite number`:                      {Named: map[string]float64{"x": math.Inf(-1)}},
		`.named["\x00"]: text "\x00" holds a NUL`:                       {Named: map[string]float64{"\x00": 1}},
		`.big: 9223372036854775808 is above 9223372036854775807`:        {Big: 1 << 63},
		`.any[1].text: text "\x00" holds a NUL character`:               {Any: []any{nil, &measure{Text: "\x00"}}},
		`.any.Untagged: text "\xc0" is not UTF-8`:                       {Any: struct{ Untagged string }{"\xc0"}},
		`.any["a"][0]: text "\xed\xa0\x80" is not UTF-8`:                {Any: map[string][]string{"a": {"\xed\xa0\x80"}}},
	} {
		wantUnstorable(t, "document"+place, c.Insert(t.Context(), measure{}, document))
		wantUnstorable(t, "document two"+place, c.Put(t.Context(),
			documents.Keyed{Key: "one", Document: measure{}}, documents.Keyed{Key: "two", Document: document}))
		wantUnstorable(t, "element"+place, c.Push(t.Context(), documents.Equal("id", 1), "list", document, ""))
	}
	const nul = `: text "\x00" holds a NUL character`
	at := documents.Equal("text", "\x00")
	wantUnstorable(t, "key"+nul, c.Put(t.Context(), documents.Keyed{Key: "\x00", Document: measure{}}))
	wantUnstorable(t, "condition on text"+nul, c.Push(t.Context(), at, "list", measure{}, ""))
	wantUnstorable(t, "condition on text"+nul, c.Pull(t.Context(), at, "list", "text", ""))
	wantUnstorable(t, "value of id"+nul, c.Pull(t.Context(), documents.Equal("text", ""), "list", "id", "\x00"))
	wantUnstorable(t, "condition on text"+nul, c.Head(t.Context(), &measure{}, "list", 1, at))
	wantUnstorable(t, "condition on text"+nul, c.Get(t.Context(), &measure{}, at))
	wantUnstorable(t, "condition on text"+nul, c.Find(t.Context(), &[]measure{},
		documents.Query{Where: []documents.Condition{documents.In("text", []string{"a", "\x00"})}}))
	wantCount(t, c, 0)
}

func wantUnstorable(t *testing.T, message string, err error) {
	t.Helper()
	if !errors.Is(err, documents.ErrUnstorable) || !strings.HasPrefix(err.Error(), "documents: cannot be stored: "+message) {
		t.Errorf("%v, want ErrUnstorable: %s", err, message)
	}
}
