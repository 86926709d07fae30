package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"loadstone.dev/stone/load/mistake"
)

func expecting(t testing.TB, text string) *expectation {
	t.Helper()
	var given Expect
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	e, err := compileExpect(&given, "op.expect")
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return e
}

func TestExpectations(t *testing.T) {
	const notJSON = "expected json a.b = 1, body is not JSON"
	is1, deep := `{"json":{"path":"a.b","equals":1}}`, `{"json":{"path":"a.1.b"}}`
	for _, c := range []struct {
		expect string
		status int
		body   string
		says   string
	}{
		{`{"status":[200,201]}`, 201, "", ""},
		{`{"status":[302]}`, 302, "", ""},
		{`{"status":[404]}`, 404, "", ""},
		{`{"status":[200]}`, 302, "", "expected status 200, got 302"},
		{`{"status":[200,201]}`, 500, "", "expected status 200 or 201, got 500"},
		{`{"min_bytes":3}`, 200, "abc", ""},
		{`{"min_bytes":3}`, 200, "ab", "expected at least 3 bytes, got fewer"},
		{`{"max_bytes":3}`, 200, "abc", ""},
		{`{"max_bytes":3}`, 200, "abcd", "expected at most 3 bytes, got more"},
		{`{"max_bytes":0}`, 200, "a", "expected at most 0 bytes, got more"},
		{`{"min_bytes":1}`, 404, "abc", "status 404"},
		{is1, 200, `{"a":{"b":1}}`, ""},
		{is1, 200, ` {"z":[{}],"a" : {"x":"a\"b","b":1.0}} `, ""},
		{is1, 200, `{"a":{"b":2}}`, "expected json a.b = 1"},
		{is1, 200, `{"a":{"b":"1"}}`, "expected json a.b = 1"},
		{is1, 200, `{"a":{"b":null}}`, "expected json a.b = 1"},
		{is1, 200, `{"a":{"b":[1]}}`, "expected json a.b = 1"},
		{is1, 200, `{"a":{"c":1}}`, "expected json a.b = 1, it is not there"},
		{is1, 200, `{"a":1}`, "expected json a.b = 1, it is not there"},
		{is1, 200, `{"a.b":1}`, "expected json a.b = 1, it is not there"},
		{is1, 200, `[]`, "expected json a.b = 1, it is not there"},
		{is1, 200, `{"a":{"b":1,"b":1}}`, "expected json a.b = 1, its key is there twice"},
		{is1, 200, `{"a":{"b":1},"a":{}}`, "expected json a.b = 1, its key is there twice"},
		{is1, 200, `{"a":{"b":1,"b":1}}`, "expected json a.b = 1, its key is there twice"},
		{is1, 200, "", notJSON},
		{is1, 200, "<html>", notJSON},
		{is1, 200, `{"a":{"b":1}`, notJSON},
		{is1, 200, `{"a":{"b":1}}}`, notJSON},
		{is1, 200, "{\"a\":{\"b\":1},\"c\":\"\xff\"}", notJSON},
		{is1, 200, `{"c":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + `,"a":{"b":1}}`, notJSON},
		{is1, 200, `{"c":"` + strings.Repeat("[", 1001) + `\"","a":{"b":1}}`, ""},
		{is1, 200, `{"c":[` + strings.Repeat("[],", 1001) + `0],"a":{"b":1}}`, ""},
		{is1, 500, `{"a":{"b":1}}`, "status 500"},
		{deep, 200, `{"a":[0,{"b":null}]}`, ""},
		{deep, 200, `{"a":[{"b":1}]}`, "expected json a.1.b, it is not there"},
		{deep, 200, `{"a":{"1":{"b":[]}}}`, ""},
		{`{"json":{"path":"a.01"}}`, 200, `{"a":[1,2]}`, "expected json a.01, it is not there"},
		{`{"json":{"path":"m","equals":"Login \"ä\""}}`, 200, `{"m":"Login \"\u00e4\""}`, ""},
		{`{"json":{"path":"m","equals":"x"}}`, 200, `{"m":"y"}`, "expected json m = x"},
		{`{"json":{"path":"m","equals":true}}`, 200, `{"m":true}`, ""},
		{`{"json":{"path":"m","equals":true}}`, 200, `{"m":false}`, "expected json m = true"},
		{`{"json":{"path":"m","equals":null}}`, 200, `{"m":null}`, ""},
		{`{"json":{"path":"m","equals":null}}`, 200, `{"m":0}`, "expected json m = null"},
		{`{"json":{"path":"m","equals":9007199254740993}}`, 200, `{"m":9007199254740992}`, "expected json m = 9007199254740993"},
		{`{"json":{"path":"m","equals":9007199254740993}}`, 200, `{"m":9007199254740993}`, ""},
	} {
		e := expecting(t, c.expect)
		have := ""
		if err := e.Check(c.status, []byte(c.body), int64(len(c.body))); err != nil {
			have = err.Error()
		}
		if have != c.says {
			t.Errorf("%s of %d %s: got %q, want %q", c.expect, c.status, c.body, have, c.says)
		}
		if want := strings.Contains(c.expect, "json"); e.needsBody() != want {
			t.Errorf("%s needs the body: %v", c.expect, !want)
		}
	}
}

func TestNoExpectationMeansBelow400(t *testing.T) {
	e, err := compileExpect(nil, "")
	if err != nil || e.needsBody() {
		t.Fatal(err)
	}
	for status, says := range map[int]error{200: nil, 302: nil, 399: nil, 400: StatusError(400), 503: StatusError(503)} {
		if have := e.Check(status, nil, 0); have != says {
			t.Errorf("%d: %v", status, have)
		}
	}
}

func TestABodyThatWasCutIsNotJudged(t *testing.T) {
	e := expecting(t, `{"json":{"path":"a.b"}}`)
	body := []byte(`{"a":{"b":1}}`)
	if err := e.Check(200, body, BodyLimit+1); err == nil || err.Error() != "body longer than 1 MiB, cannot check json a.b" {
		t.Error(err)
	}
	if err := expecting(t, `{"status":[200],"min_bytes":5}`).Check(200, nil, 1<<40); err != nil {
		t.Error(err) // only the length counts, and that is known
	}
}

func TestEqualMistakesAreEqualErrorsAndFree(t *testing.T) {
	e := expecting(t, `{"status":[200],"min_bytes":3,"json":{"path":"a.b","equals":"x"}}`)
	counts := map[error]int{}
	answers := []struct {
		status int
		body   []byte
	}{{200, []byte(`{"a":{"b":"x"}}`)}, {200, []byte(`{"a":{"b":"y"}}`)}, {200, []byte(`{"a":{"b":"z"}}`)}, {500, nil}, {500, []byte("no")}, {200, nil}}
	check := func() {
		for _, answer := range answers {
			if err := e.Check(answer.status, answer.body, int64(len(answer.body))); err != nil {
				counts[err]++
			}
		}
	}
	check()
	if len(counts) != 3 {
		t.Errorf("kinds of error: %v", counts)
	}
	if allocations := testing.AllocsPerRun(100, check); allocations > 0 {
		t.Errorf("%.2f allocations", allocations)
	}
}

func TestMistakesInExpectationsNameTheKey(t *testing.T) {
	for _, c := range []struct{ expect, key, says string }{
		{`{}`, "", "empty; give status, json, min_bytes or max_bytes"},
		{`{"status":[]}`, ".status", "empty; give at least one"},
		{`{"status":[200,20]}`, ".status[1]", "20 is not a status of an answer; give 200 to 599"},
		{`{"min_bytes":-1}`, ".min_bytes", "-1 is negative"},
		{`{"min_bytes":5,"max_bytes":4}`, ".max_bytes", "4 is less than min_bytes (5)"},
		{`{"json":{}}`, ".json.path", `"": give keys and array indexes with a dot between each, such as items.0.id`},
		{`{"json":{"path":"a..b"}}`, ".json.path", `"a..b": give keys and array indexes with a dot between each, such as items.0.id`},
		{`{"json":{"path":"a","equals":{"b":1}}}`, ".json.equals", `{"b":1}: give a text, a number, true, false or null`},
	} {
		var given Expect
		if err := json.Unmarshal([]byte(c.expect), &given); err != nil {
			t.Fatal(err)
		}
		_, err := compileExpect(&given, "op.expect")
		var mistake *mistake.Error
		if !errors.As(err, &mistake) || mistake.Key != "op.expect"+c.key || mistake.Problem != c.says {
			t.Errorf("%s: got %v\nwant op.expect%s: %s", c.expect, err, c.key, c.says)
		}
	}
}

// expected is lookUp by the standard library: slow, and known to be right.
func expected(body []byte, path []string) (raw json.RawMessage, count int) {
	raw = body
	for _, part := range path {
		var list []json.RawMessage
		count = 0
		switch trimmed := bytes.TrimLeft(raw, " \t\r\n"); trimmed[0] {
		case '[':
			_ = json.Unmarshal(raw, &list)
			if i, err := strconv.Atoi(part); err == nil && strconv.Itoa(i) == part && i >= 0 && i < len(list) {
				raw, count = list[i], 1
			}
		case '{':
			decoder := json.NewDecoder(bytes.NewReader(trimmed))
			_, _ = decoder.Token()
			for decoder.More() {
				key, _ := decoder.Token()
				var value json.RawMessage
				_ = decoder.Decode(&value)
				if key == part {
					raw, count = value, count+1
				}
			}
		}
		if count != 1 {
			return nil, count
		}
	}
	return raw, count
}

func FuzzLookUp(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,{"c":"x"}]}}`), "a.b.1.c")
	f.Add([]byte(`{"a":1,"a":2}`), "a")
	f.Add([]byte(`[[[],[{"":0}]]]`), "0.1.0")
	f.Add([]byte(`{"a\u0062":[true]}`), "ab.0")
	f.Add([]byte(` {"a" : "\ud800" , "b":1e400}`), "b")
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		keys, err := jsonPath(path, "")
		if err != nil {
			return
		}
		valid := json.Valid(body) && utf8.Valid(body)
		if have := isJSON(body); have != valid && !nested(body, deepest) {
			t.Fatalf("%q is JSON: %v", body, have)
		}
		if !isJSON(body) {
			return
		}
		value, count := lookUp(body, keys)
		want, wantCount := expected(body, keys)
		if count != wantCount {
			t.Fatalf("%q in %q: there %d times, want %d", path, body, count, wantCount)
		}
		if count == 1 && strings.TrimSpace(value.Raw) != strings.TrimSpace(string(want)) {
			t.Fatalf("%q in %q: %q, want %q", path, body, value.Raw, want)
		}
	})
}

func TestNestingIsFollowedNoDeeperThanIsSafe(t *testing.T) {
	for _, body := range []string{strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<18), strings.Repeat("[", 1<<19) + strings.Repeat("]", 1<<19)} {
		if isJSON([]byte(body)) {
			t.Errorf("%.10s... is JSON", body)
		}
	}
	if !isJSON([]byte(strings.Repeat("[", deepest) + strings.Repeat("]", deepest))) {
		t.Errorf("%d levels are too many", deepest)
	}
}

func BenchmarkExpectJSON(b *testing.B) {
	hotel := `{"type":"Feature","id":"27","properties":{"name":"St. Regis San Francisco","phone_number":"(415) 284-4027"},` +
		`"geometry":{"type":"Point","coordinates":[-122.194,37.9455]}}`
	body := []byte(`{"type":"FeatureCollection","features":[` + strings.Repeat(hotel+",", 4) + hotel + `]}`)
	e := expecting(b, `{"json":{"path":"type","equals":"FeatureCollection"}}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := e.Check(200, body, int64(len(body))); err != nil {
			b.Fatal(err)
		}
	}
}
