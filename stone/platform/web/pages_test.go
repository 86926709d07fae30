package web

import (
	"html/template"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func testPages(t *testing.T) Pages {
	t.Helper()
	pages, err := ParsePages(fstest.MapFS{
		"header.html": {Data: []byte(`{{define "header"}}<b>head</b>{{end}}`)},
		"parts.html":  {Data: []byte(`{{define "name"}}{{.Name}}{{end}}`)},
		"hello.html":  {Data: []byte(`{{define "title"}}Hello{{end}}{{define "main"}}<p>{{template "name" .}} {{twice 2}}</p>{{end}}`)},
		"bye.html":    {Data: []byte(`{{define "title"}}Bye{{end}}{{define "main"}}{{.Name.None}}{{end}}`)},
	}, template.FuncMap{"twice": func(n int) int { return 2 * n }})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func TestAPageStandsInTheLayout(t *testing.T) {
	answer := httptest.NewRecorder()
	if err := testPages(t).Show(answer, http.StatusNotFound, "hello", map[string]string{"Name": "<script>"}); err != nil {
		t.Fatal(err)
	}
	body := answer.Body.String()
	for _, part := range []string{"<title>Hello</title>", "<b>head</b>", "<p>&lt;script&gt; 4</p>", `href="/style.css"`} {
		if !strings.Contains(body, part) {
			t.Errorf("no %s in %s", part, body)
		}
	}
	if answer.Code != http.StatusNotFound || !strings.Contains(answer.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("status %d, headers %v", answer.Code, answer.Header())
	}
}

func TestAPageThatFailsWritesNothing(t *testing.T) {
	answer := httptest.NewRecorder()
	err := testPages(t).Show(answer, http.StatusOK, "bye", map[string]string{"Name": "x"})
	if err == nil || !strings.Contains(err.Error(), "page bye: ") || answer.Body.Len() > 0 || len(answer.Header()) > 0 {
		t.Errorf("%v, wrote %q, headers %v", err, answer.Body, answer.Header())
	}
}

func TestWrongTemplatesAreReported(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"no header":   {"a.html": {Data: []byte(`{{define "main"}}{{end}}`)}},
		"bad header":  {"header.html": {Data: []byte(`{{define`)}},
		"bad content": {"header.html": {Data: []byte(``)}, "a.html": {Data: []byte(`{{if}}`)}},
	} {
		if _, err := ParsePages(files, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTheStyleSheetIsServed(t *testing.T) {
	answer := httptest.NewRecorder()
	StyleSheet(answer, httptest.NewRequest(http.MethodGet, "/style.css", nil))
	if answer.Code != http.StatusOK || !strings.HasPrefix(answer.Header().Get("Content-Type"), "text/css") ||
		!strings.Contains(answer.Body.String(), ":root") {
		t.Errorf("%d %v %.50s", answer.Code, answer.Header(), answer.Body)
	}
}
