package request

import (
	"encoding/json"
	"errors"
	"testing"

	"loadstone.dev/stone/load/mistake"
)

func TestMistakesInFieldsNameTheKey(t *testing.T) {
	for _, c := range []struct{ field, key, says string }{
		{`{"kind":"float"}`, "f.kind", `"float" is not known; give integer, decimal, choice, zipf, text, sum, sequence, file, repeat or date`},
		{`{"kind":"zipf","n":5,"alpha":1,"min":2}`, "f.min", "not a key of kind zipf (it has: n values alpha)"},
		{`{"kind":"integer","min":1,"max":2,"not":"x"}`, "f.not", `"x" is not an integer, a sequence or a zipf with n of this operation (or they wait for each other)`},
		{`{"kind":"integer","min":1,"max":2,"not":"f"}`, "f.not", `"f" is not an integer, a sequence or a zipf with n of this operation (or they wait for each other)`},
		{`{"kind":"integer","min":1,"max":2,"not":"c"}`, "f.not", `"c" is not an integer, a sequence or a zipf with n of this operation (or they wait for each other)`},
		{`{"kind":"integer","min":1,"max":1,"not":"i"}`, "f.not", "min 1 = max leaves no value when it must differ from i"},
		{`{"kind":"choice","values":["a","b"],"not":"i"}`, "f.not", `"i" is not a choice of this operation (or they wait for each other)`},
		{`{"kind":"choice","values":["a","c"],"not":"c"}`, "f.not", `"c" has other values; give both fields the same, in the same order`},
		{`{"kind":"choice","values":["a"],"not":"one"}`, "f.not", `"one" has one value, which leaves none that differs`},
		{`{"kind":"choice","values":["a","a"],"not":"twice"}`, "f.not", `"twice" has a value twice; give each once, and weights`},
		{`{"kind":"choice","values":["a","b"],"weights":[0,2],"not":"c"}`, "f.weights", "only one is not 0, which leaves no value when it must differ from c"},
		{`{"kind":"choice","values":["a","b"],"weights":[0,0]}`, "f.weights", "all are 0; give one that is not"},
		{`{"kind":"zipf","alpha":1}`, "f", "give either n (ranks 1 to n) or values (the most frequent first)"},
		{`{"kind":"zipf","n":3,"values":["a"],"alpha":1}`, "f", "give either n (ranks 1 to n) or values (the most frequent first)"},
		{`{"kind":"zipf","values":[],"alpha":1}`, "f.values", "missing; give at least one"},
		{`{"kind":"zipf","n":-3,"alpha":1}`, "f.n", "-3 is out of range; give 1 to 1000000000000"},
		{`{"kind":"zipf","n":3}`, "f.alpha", "0 is out of range; give more than 0 and at most 20"},
		{`{"kind":"zipf","n":3,"alpha":-1}`, "f.alpha", "-1 is out of range; give more than 0 and at most 20"},
		{`{"kind":"text"}`, "f.min", `"": give a whole number from 0 to 1048576`},
		{`{"kind":"text","length":3,"min":2}`, "f.length", "give length, or min and max, not both"},
		{`{"kind":"text","length":-3}`, "f.length", "-3 is out of range; give 1 to 1048576"},
		{`{"kind":"text","min":3,"max":2}`, "f.max", "2 is less than min (3)"},
		{`{"kind":"text","min":3,"max":2e9}`, "f.max", `"2e9": give a whole number from 0 to 1048576`},
		{`{"kind":"text","length":3,"alphabet":"greek"}`, "f.alphabet", `"greek" is not known; give alnum, lower, digits, hex or words`},
		{`{"kind":"sequence","step":0}`, "f.step", "0 gives every request the same; use kind choice with one value"},
		{`{"kind":"sequence","start":1.5}`, "f.start", `"1.5": give a whole number from -1000000000000000 to 1000000000000000`},
		{`{"kind":"sum","of":"c","add":1}`, "f.of", `"c" is not an integer, a sequence or a zipf with n of this operation (or they wait for each other)`},
		{`{"kind":"sum","of":"i"}`, "f.add", `"": give a whole number from -1000000000000000 to 1000000000000000`},
		{`{"kind":"repeat","of":"plus","min":1,"max":2}`, "f.of", `"plus" is a sum: it is the same all through a request`},
		{`{"kind":"repeat","of":"x","min":1,"max":2}`, "f.of", `"x" is not a field of this operation (or they wait for each other)`},
		{`{"kind":"repeat","of":"f","min":1,"max":2}`, "f.of", `"f" is not a field of this operation (or they wait for each other)`},
		{`{"kind":"repeat","of":"s","min":1,"max":2}`, "f.of", `"s" is a sequence: it is the same all through a request`},
		{`{"kind":"repeat","of":"i","min":3,"max":2}`, "f.max", "2 is less than min (3)"},
		{`{"kind":"repeat","of":"i","min":1,"max":20000}`, "f.max", `"20000": give a whole number from 0 to 10000`},
		{`{"kind":"repeat","of":"i","as_many_as":"i"}`, "f.as_many_as", `"i" is not a repeat of this operation (or they wait for each other)`},
		{`{"kind":"repeat","of":"i","as_many_as":"r","min":1}`, "f.as_many_as", "give min and max, or as_many_as, not both"},
		{`{"kind":"repeat","of":"long","min":1,"max":100}`, "f", "can be 104857600 bytes long; at most 16777216"},
	} {
		var given map[string]Field
		if err := json.Unmarshal([]byte(`{"f":`+c.field+`,"i":{"kind":"integer","min":1,"max":9},"s":{"kind":"sequence"},"plus":{"kind":"sum","of":"i","add":1},
		 "c":{"kind":"choice","values":["a","b"]},"one":{"kind":"choice","values":["a"]},"twice":{"kind":"choice","values":["a","a"]},
		 "r":{"kind":"repeat","of":"i","min":1,"max":2},"long":{"kind":"text","length":1048576}}`), &given); err != nil {
			t.Fatalf("%v in %s", err, c.field)
		}
		_, err := compileFields(given, nil, "op")
		var mistake *mistake.Error
		if !errors.As(err, &mistake) || mistake.Key != "op.fields."+c.key || mistake.Problem != c.says {
			t.Errorf("got %q\nwant op.fields.%s: %s\nfor %s", err, c.key, c.says, c.field)
		}
	}
}

// FuzzFields: whatever fields are given, they are refused or can be drawn, none longer than it says.
func FuzzFields(f *testing.F) {
	f.Add([]byte(`{"a":{"kind":"integer","min":-3,"max":7},"b":{"kind":"integer","min":0,"max":9,"not":"a"}}`))
	f.Add([]byte(`{"a":{"kind":"decimal","min":0.001,"max":7.5,"step":0.25},"b":{"kind":"zipf","n":100000,"alpha":1.2}}`))
	f.Add([]byte(`{"a":{"kind":"choice","values":["x","yy"],"weights":[1,0]},"b":{"kind":"text","min":0,"max":20,"alphabet":"words"}}`))
	f.Add([]byte(`{"a":{"kind":"sequence","start":-4,"step":-9},"b":{"kind":"zipf","values":["x","y"],"alpha":2},
	 "c":{"kind":"repeat","of":"b","min":0,"max":3,"separator":"+"},"d":{"kind":"repeat","of":"b","as_many_as":"c"}}`))
	f.Add([]byte(`{"a":{"kind":"date","from":"2020-01-01","to":"2020-12-31"},"b":{"kind":"date","after":"a","min_days":0,"max_days":3,"to":"2020-12-31"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var given map[string]Field
		if json.Unmarshal(text, &given) != nil {
			return
		}
		for name, field := range given {
			if field.Kind == "file" {
				delete(given, name) // reads what is on the disk
			}
		}
		set, err := compileFields(given, nil, "op")
		if err != nil {
			return
		}
		total := 0
		for _, field := range set.drawers {
			total += field.width()
		}
		if total > 1<<20 {
			return // allowed, and slow
		}
		d := drawing(set)
		for n := range uint64(10) {
			d.request(n)
			for slot, field := range set.drawers {
				if value := d.values.of(slot); len(value) > field.width() {
					t.Fatalf("%q has %d bytes, at most %d expected", value, len(value), field.width())
				}
			}
		}
	})
}
