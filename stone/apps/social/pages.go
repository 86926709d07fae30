package social

import (
	"embed"
	"io/fs"
	"net/http"
	"net/url"

	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/web"
)

//go:embed pages
var pageFiles embed.FS

// mustParsePages gives the pages by name. They are parsed by the front end alone: every service has this package.
func mustParsePages() web.Pages {
	folder, err := fs.Sub(pageFiles, "pages")
	if err != nil {
		panic(err)
	}
	pages, err := web.ParsePages(folder, nil)
	if err != nil {
		panic(err) // they are part of the program
	}
	return pages
}

// view is what a page shows.
type view struct {
	Title   string
	Here    string // which entry of the menu this is
	Problem string
	Body    any
	// Set by show.
	Me   string // empty: not logged in
	Form string // token of forms
}

// routePages serves what people see: pages that need no script, and forms.
func (f *frontend) routePages(mux *http.ServeMux) {
	for pattern, answer := range map[string]web.Handler{
		"GET /login":                  f.loginPage,
		"POST /login":                 f.sendLogin,
		"GET /signup":                 f.signupPage,
		"POST /signup":                f.sendSignup,
		"POST /logout":                f.sendLogout,
		"GET /home":                   f.private(f.homePage),
		"GET /compose":                f.private(f.composePage),
		"POST /compose":               f.private(f.sendCompose),
		"GET /users":                  f.private(f.findUser),
		"GET /users/{name}":           f.private(f.profilePage),
		"GET /users/{name}/followers": f.private(f.contactsPage("followers")),
		"GET /users/{name}/followees": f.private(f.contactsPage("followees")),
		"POST /users/{name}/follow":   f.private(f.sendConnect(following)),
		"POST /users/{name}/unfollow": f.private(f.sendConnect(unfollowing)),
		"GET /profile.html":           f.private(f.toOwn("")),
		"GET /contact.html":           f.private(f.toOwn("/followees")),
	} {
		mux.HandleFunc(pattern, f.site.HandleWith(answer, f.showProblem))
	}
	// The published names of pages.
	for pattern, to := range map[string]string{
		"GET /{$}": "/home", "GET /index.html": "/home", "GET /main.html": "/home", "GET /signup.html": "/signup",
	} {
		mux.Handle(pattern, http.RedirectHandler(to, http.StatusFound))
	}
	icon, err := pageFiles.ReadFile("pages/icon.svg")
	if err != nil {
		panic(err) // it is part of the program
	}
	mux.HandleFunc("GET /icon.svg", web.Asset("image/svg+xml", icon))
	mux.HandleFunc("GET /style.css", web.StyleSheet)
}

// show writes a page.
func (f *frontend) show(w http.ResponseWriter, r *http.Request, status int, name string, page view) error {
	if session, err := f.tokens.Read(f.sessions.Token(r)); err == nil {
		page.Me = session.Username
	}
	page.Form = f.sessions.FormToken(w, r)
	return f.pages.Show(w, status, name, page)
}

// showProblem is the page of an error that no other page shows.
func (f *frontend) showProblem(w http.ResponseWriter, r *http.Request, problem *web.Problem) {
	page := view{Title: http.StatusText(problem.Status), Problem: problem.Text}
	if problem.Status == http.StatusUnauthorized {
		page.Title, page.Here, page.Body = "Log in", "login", entered{}
		_ = f.show(w, r, problem.Status, "login", page)
		return
	}
	if err := f.show(w, r, problem.Status, "problem", page); err != nil {
		http.Error(w, problem.Text, problem.Status)
	}
}

// private is for those who are logged in; others are shown where to do that.
func (f *frontend) private(answer func(http.ResponseWriter, *http.Request, accounts.Session) error) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if f.sessions.Token(r) == "" {
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return nil
		}
		session, err := f.myself(r)
		if err != nil {
			return web.Problemf(http.StatusUnauthorized, "Your session has ended. Please log in again.")
		}
		return answer(w, r, session)
	}
}

// ownForm reads a form that one of our pages gave to this browser.
func (f *frontend) ownForm(w http.ResponseWriter, r *http.Request) (web.Params, error) {
	params, err := web.ReadParams(w, r)
	if err != nil {
		return nil, err
	}
	return params, f.sessions.CheckForm(r, params.Get("form"))
}

func (f *frontend) toOwn(page string) func(http.ResponseWriter, *http.Request, accounts.Session) error {
	return func(w http.ResponseWriter, r *http.Request, session accounts.Session) error {
		http.Redirect(w, r, profilePath(session.Username)+page, http.StatusFound)
		return nil
	}
}

func profilePath(username string) string { return "/users/" + url.PathEscape(username) }
