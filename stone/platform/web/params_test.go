package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/web"
)

func TestParamsOfQueryAndForm(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct {
		method, target, kind, body string
		a, b                       string
	}{
		{"GET", "/?a=1&b=x+y%21", "", "", "1", "x y!"},
		{"POST", "/", form, "a=1&b=2", "1", "2"},
		{"POST", "/", form + "; charset=utf-8", "a=1&b=2", "1", "2"},
		{"POST", "/", "", "a=1&b=2", "1", "2"},
		{"POST", "/?a=query&b=query", form, "a=body", "body", "query"},
		{"POST", "/?a=1", "application/json", `{"b":"2"}`, "1", ""},
		// As NGINX reads it: nothing here is an error.
		{"GET", "/?a=100%&b=%zz;%4", "", "", "100%", "%zz;%4"},
		{"GET", "/?&&a&b==x&a=2", "", "", "", "=x"},
		{"POST", "/", form, "a=http://x.y/?z @me&b=", "http://x.y/?z @me", ""},
	} {
		r := httptest.NewRequest(c.method, c.target, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		params, err := web.ReadParams(httptest.NewRecorder(), r)
		if err != nil || params.Get("a") != c.a || params.Get("b") != c.b {
			t.Errorf("%s %s %q: %q, %v", c.method, c.target, c.body, params, err)
		}
	}
}

func TestABodyHasALimit(t *testing.T) {
	site, _ := newSite()
	handler := site.Handle(func(w http.ResponseWriter, r *http.Request) error {
		_, err := web.ReadParams(w, r)
		return err
	})
	for length, want := range map[int]int{web.LargestBody: 200, web.LargestBody + 1: 413} {
		answer := ask(handler, httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", length))))
		if answer.Code != want {
			t.Errorf("%d bytes: %d %s", length, answer.Code, answer.Body)
		}
	}
}

func TestValuesAreChecked(t *testing.T) {
	params := web.ParseParams(nil, "id=9223372036854775807&more=9223372036854775808&minus=-1&word=x&n=-3&nul=a%00b&odd=%ff&text=%C3%A9t%C3%A9")
	if id, err := params.ID("id"); err != nil || id != 1<<63-1 {
		t.Errorf("id: %d, %v", id, err)
	}
	if n, err := params.Integer("n", -3, 3); err != nil || n != -3 {
		t.Errorf("n: %d, %v", n, err)
	}
	if text, err := params.Text("text", 5); err != nil || text != "été" {
		t.Errorf("text: %q, %v", text, err)
	}
	for want, err := range map[string]error{
		`more: "9223372036854775808" is not a number from 0 to 9223372036854775807`: second(params.ID("more")),
		`minus: "-1" is not a number from 0 to 9223372036854775807`:                 second(params.ID("minus")),
		`word: "x" is not a number from 0 to 9223372036854775807`:                   second(params.ID("word")),
		`absent: "" is not a number from 0 to 9223372036854775807`:                  second(params.ID("absent")),
		`n: "-3" is not a number from 0 to 10`:                                      second(params.Integer("n", 0, 10)),
		`nul: contains a NUL`:                                                       second(params.Text("nul", 9)),
		`odd: not UTF-8`:                                                            second(params.Text("odd", 9)),
		`text: 5 bytes are more than 4`:                                             second(params.Text("text", 4)),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v instead of %q", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// What a form encodes comes back, and nothing that is sent can do harm.
func FuzzParams(f *testing.F) {
	f.Add("a=%41&b=%zz", "x y&=%", "é\x00")
	f.Fuzz(func(t *testing.T, anything, name, value string) {
		if read := web.ParseParams(nil, anything); len(read) > strings.Count(anything, "&")+1 {
			t.Errorf("%q: %q", anything, read)
		}
		encoded := url.Values{name: {value}}.Encode()
		if read := web.ParseParams(nil, encoded); len(read) != 1 || read[0] != (web.Param{Name: name, Value: value}) {
			t.Errorf("%q: %q", encoded, read)
		}
	})
}
