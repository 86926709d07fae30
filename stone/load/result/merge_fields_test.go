package result

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"loadstone.dev/stone/load/schedule"
)

// fill gives every field a value that is not zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Interface().(type) {
	case Histogram:
		h := NewHistogram()
		Record(h, 5e6, 2)
		v.Set(reflect.ValueOf(Histogram{Histogram: h}))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1, 1)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"seed":1}`)))
		return
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.String:
		v.SetString("x")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i))
			}
		}
	default:
		t.Fatalf("fill knows no %s", v.Type())
	}
}

// A part merged alone is unchanged in every field: a new field must define how it is merged.
func TestMergeForgetsNothing(t *testing.T) {
	var f Findings
	fill(t, reflect.ValueOf(&f).Elem())
	f.Rates = Histogram{Histogram: NewRates()}
	Record(f.Rates.Histogram, 700, 1)
	whole, err := Sum([]*Findings{&f})
	if err != nil {
		t.Fatal(err)
	}
	want := f // but for what is each part's own
	want.Part, want.Files, want.Arrivals = Part{Number: 0, Of: 1}, nil, schedule.ArrivalSpan{}
	wanted, _ := json.Marshal(want)
	got, err := json.Marshal(whole)
	if err != nil || string(got) != string(wanted) {
		t.Errorf("%v: merged\n%s\nthe part was\n%s", err, got, wanted)
	}
}
