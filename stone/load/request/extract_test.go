package request

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"loadstone.dev/stone/load/mistake"
)

func extracting(t testing.TB, from string) *extractor {
	t.Helper()
	extractors, err := compileExtract(map[string]string{"value": from}, "op.extract")
	if err != nil {
		t.Fatal(err)
	}
	return &extractors[0]
}

func TestValuesAreTakenOutOfAnswers(t *testing.T) {
	head := "Content-Type: application/json\r\nx-token:  a b \t\r\nX-Token: second\r\nEmpty:\r\nno colon\r\n" +
		"Set-Cookie: id=1; Path=/\r\nset-cookie: login_token = \"t=1\" ; Secure\r\nSet-Cookie: id=2;HttpOnly\r\nSet-Cookie: gone=; Max-Age=0\r\n"
	body := `{"access":{"token":"a\nb","user":"Bo \u00d8","id":12345678901234567890,"on":true,"none":null,"list":["x"],"empty":""}}`
	for _, c := range []struct {
		from, value string
		found       bool
	}{
		{"header:X-Token", "a b", true},
		{"header:X-TOKEN", "a b", true},
		{"header:content-type", "application/json", true},
		{"header:X-Toke", "", false},
		{"header:Empty", "", false},
		{"header:no", "", false},
		{"cookie:id", "2", true},
		{"cookie:login_token", `"t=1"`, true},
		{"cookie:ID", "", false},
		{"cookie:Path", "", false},
		{"cookie:gone", "", false},
		{"json:access.user", "Bo Ø", true},
		{"json:access.id", "12345678901234567890", true},
		{"json:access.on", "true", true},
		{"json:access.list.0", "x", true},
		{"json:access.list", "", false},
		{"json:access.none", "", false},
		{"json:access.empty", "", false},
		{"json:access.token", "", false}, // a line end in it
		{"json:access.tokens", "", false},
	} {
		e := extracting(t, c.from)
		value, found := e.From([]byte(head), []byte(body), []byte("kept "))
		if found != c.found || string(value) != "kept "+c.value {
			t.Errorf("%s: %q, %v; want %q, %v", c.from, value, found, c.value, c.found)
		}
		if want := strings.HasPrefix(c.from, "json"); e.needsBody() != want {
			t.Errorf("%s needs the body: %v", c.from, !want)
		}
	}
}

func TestNothingIsTakenOutOfABadAnswer(t *testing.T) {
	for _, body := range []string{"", `{"a":"x"`, "{\"a\":\"x\",\"b\":\"\xff\"}", `{"a":"x","a":"y"}`, `{"a":"` + strings.Repeat("x", extractMost+1) + `"}`} {
		if value, found := extracting(t, "json:a").From(nil, []byte(body), nil); found || len(value) > 0 {
			t.Errorf("%.20s: %.20q", body, value)
		}
	}
	if value, found := extracting(t, "json:a").From(nil, []byte(`{"a":"`+strings.Repeat("x", extractMost)+`"}`), nil); !found || len(value) != extractMost {
		t.Errorf("%d bytes", len(value))
	}
}

func TestTakingAValueOutDoesNotAllocate(t *testing.T) {
	head, body, to := []byte("Set-Cookie: a=b; Path=/\r\n"), []byte(`{"a":{"b":"x"}}`), make([]byte, 0, 100)
	for _, from := range []string{"json:a.b", "cookie:a", "header:set-cookie"} {
		e := extracting(t, from)
		if allocations := testing.AllocsPerRun(100, func() { e.From(head, body, to) }); allocations > 0 {
			t.Errorf("%s: %.2f allocations", from, allocations)
		}
	}
}

func TestExtractorsComeByName(t *testing.T) {
	extractors, err := compileExtract(map[string]string{"b": "json:x", "a": "cookie:x", "c": "header:x"}, "op")
	if err != nil || len(extractors) != 3 || extractors[0].name+extractors[1].name+extractors[2].name != "abc" {
		t.Errorf("%v %v", extractors, err)
	}
}

func TestMistakesInExtractNameTheKey(t *testing.T) {
	for _, c := range []struct{ name, from, says string }{
		{"token", "body:x", `"body:x": give json:PATH, header:NAME or cookie:NAME`},
		{"token", "x", `"x": give json:PATH, header:NAME or cookie:NAME`},
		{"token", "json:", `"": give keys and array indexes with a dot between each, such as items.0.id`},
		{"token", "header:a b", `"a b" is not the name of a header`},
		{"token", "cookie:", `"" is not the name of a cookie`},
		{"my-token", "cookie:a", `"my-token" cannot be a name: give letters, digits and _`},
	} {
		_, err := compileExtract(map[string]string{c.name: c.from}, "op.extract")
		var mistake *mistake.Error
		if !errors.As(err, &mistake) || mistake.Key != "op.extract."+c.name || mistake.Problem != c.says {
			t.Errorf("%s: got %v\nwant %s", c.from, err, c.says)
		}
	}
}

// FuzzExtract compares with net/http where that can read the head, and wants no value that would break a request.
func FuzzExtract(f *testing.F) {
	f.Add("X-A: 1\r\nx-a: 2\r\n", "X-A", `{"a":"b"}`)
	f.Add("Set-Cookie: a=b; Path=/\r\nSet-Cookie: c=d\r\n", "a", `{"a":[1]}`)
	f.Add(" folded\r\n:\r\nA:\n\r\n\r\n", "A", `{"a":{"a":"\r"}}`)
	f.Fuzz(func(t *testing.T, head, name, body string) {
		for _, source := range []string{"header:", "cookie:", "json:"} {
			extractors, err := compileExtract(map[string]string{"v": source + name}, "")
			if err != nil {
				continue
			}
			value, found := extractors[0].From([]byte(head), []byte(body), nil)
			if found == (len(value) == 0) || len(value) > extractMost || bytes.ContainsAny(value, "\r\n\x00") {
				t.Fatalf("%s%s: %q, %v", source, name, value, found)
			}
			answer, err := http.ReadResponse(bufio.NewReader(strings.NewReader("HTTP/1.0 200 OK\r\n"+head+"\r\n")), nil)
			if source != "header:" || err != nil || strings.Contains(head, "\n ") || strings.Contains(head, "\n\t") ||
				strings.HasPrefix(head, "\n") || strings.HasPrefix(head, "\r\n") || strings.Contains(head, "\n\n") || strings.Contains(head, "\n\r\n") {
				continue // unreadable, folded lines, or more than a head
			}
			if want := answer.Header.Get(name); want != string(value) && len(want) <= extractMost {
				t.Fatalf("%q of %q: %q, want %q", name, head, value, want)
			}
		}
	})
}
