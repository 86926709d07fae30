package web

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed layout.html
var layout string

//go:embed style.css
var styleSheet []byte

// Pages are the pages of an application, all within one layout and with one style sheet.
type Pages map[string]*template.Template

// ParsePages reads the templates of a folder. Each file is a page by its name without the ending, which defines "title"
// and "main". But header.html defines "header", which stands on all of them, and parts.html what several of them use.
func ParsePages(folder fs.FS, functions template.FuncMap) (Pages, error) {
	files, err := fs.Glob(folder, "*.html")
	if err != nil {
		return nil, err
	}
	shared := []string{"header.html"}
	if slices.Contains(files, "parts.html") {
		shared = append(shared, "parts.html")
	}
	base, err := template.Must(template.New("layout").Funcs(functions).Parse(layout)).ParseFS(folder, shared...)
	if err != nil {
		return nil, err
	}
	pages := Pages{}
	for _, file := range files {
		if slices.Contains(shared, file) {
			continue
		}
		page, err := template.Must(base.Clone()).ParseFS(folder, file)
		if err != nil {
			return nil, err
		}
		pages[strings.TrimSuffix(path.Base(file), ".html")] = page
	}
	return pages, nil
}

// Show answers a page; it writes nothing if that fails.
func (p Pages) Show(w http.ResponseWriter, status int, page string, data any) error {
	var text bytes.Buffer
	if err := p[page].ExecuteTemplate(&text, "layout", data); err != nil {
		return fmt.Errorf("page %s: %w", page, err)
	}
	SecurePage(w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // fails only if the asker went away
	return nil
}

// StyleSheet serves /style.css, which the layout links to.
var StyleSheet = Asset("text/css; charset=utf-8", styleSheet)
