package media

import (
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/web"
)

//go:embed pages/icon.svg
var icon []byte

var pageFunctions = template.FuncMap{
	"path": url.PathEscape,
	"time": func(milliseconds int64) time.Time { return time.UnixMilli(milliseconds).UTC() },
	"marks": func() []int { // the best first
		var marks []int
		for mark := greatestMark; mark >= 0; mark-- {
			marks = append(marks, mark)
		}
		return marks
	},
}

func (f *frontend) routePages(mux *http.ServeMux) {
	for pattern, answer := range map[string]web.Handler{
		"GET /{$}":                f.filmsPage,
		"GET /film/{film}":        f.filmPage,
		"POST /film/{film}/write": f.writeReview,
		"GET /user/{user}":        f.userPage,
		"GET /login":              f.loginPage,
		"POST /login":             f.logIn,
		"GET /register":           f.registerPage,
		"POST /register":          f.signUp,
		"POST /logout":            f.logOut,
		"/": func(http.ResponseWriter, *http.Request) error {
			return web.Problemf(http.StatusNotFound, "there is no such page")
		},
	} {
		mux.HandleFunc(pattern, f.site.HandleWith(answer, f.problemPage))
	}
	mux.HandleFunc("GET /style.css", web.StyleSheet)
	mux.HandleFunc("GET /icon.svg", web.Asset("image/svg+xml", icon))
}

// view is what a template gets.
type view struct {
	Session *accounts.Session // nil: not logged in
	Form    string            // token of forms
	Here    string            // the page's address, to come back to after a login
	Data    any
}

func (f *frontend) show(w http.ResponseWriter, r *http.Request, status int, page string, data any) error {
	here := "/"
	if r.Method == http.MethodGet && status == http.StatusOK {
		here = r.URL.RequestURI()
	}
	return f.pages.Show(w, status, page, view{f.session(r), f.sessions.FormToken(w, r), here, data})
}

func (f *frontend) problemPage(w http.ResponseWriter, r *http.Request, problem *web.Problem) {
	if err := f.show(w, r, problem.Status, "problem", problem); err != nil {
		http.Error(w, problem.Text, problem.Status)
	}
}
