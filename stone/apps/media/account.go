package media

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/web"
)

// sessionLasts is how long a browser keeps a session, as long as its token is good.
const sessionLasts = time.Hour

// session is the user's session, nil without a login: there is no token, or it is expired or forged.
func (f *frontend) session(r *http.Request) *accounts.Session {
	session, err := f.tokens.Read(f.sessions.Token(r))
	if err != nil {
		return nil
	}
	return &session
}

// ownForm reads a form that a page of ours gave to this browser.
func (f *frontend) ownForm(w http.ResponseWriter, r *http.Request) (web.Params, error) {
	params, err := web.ReadParams(w, r)
	if err != nil {
		return nil, err
	}
	return params, f.sessions.CheckForm(r, params.Get("form"))
}

// account is what the pages to log in and to register show.
type account struct {
	New     bool
	Problem string
	Next    string // where to go then
	Filled  web.Params
}

// Value is what a field was filled with when the page is shown again.
func (a account) Value(field string) string { return a.Filled.Get(field) }

func (f *frontend) loginPage(w http.ResponseWriter, r *http.Request) error {
	return f.show(w, r, http.StatusOK, "account", account{Next: nextOf(web.ParseParams(nil, r.URL.RawQuery))})
}

func (f *frontend) registerPage(w http.ResponseWriter, r *http.Request) error {
	return f.show(w, r, http.StatusOK, "account", account{Next: nextOf(web.ParseParams(nil, r.URL.RawQuery)), New: true})
}

func (f *frontend) logIn(w http.ResponseWriter, r *http.Request) error {
	params, err := f.ownForm(w, r)
	if err != nil {
		return err
	}
	return f.begin(w, r, params, false)
}

func (f *frontend) signUp(w http.ResponseWriter, r *http.Request) error {
	params, err := f.ownForm(w, r)
	if err != nil {
		return err
	}
	if err := f.registerUser(r.Context(), params); err != nil {
		return f.again(w, r, params, true, err)
	}
	return f.begin(w, r, params, true)
}

// begin logs in with what a form says, or shows the form again.
func (f *frontend) begin(w http.ResponseWriter, r *http.Request, params web.Params, isNew bool) error {
	username := params.Get("username")
	token, err := f.user.Login(r.Context(), requestID(), username, params.Get("password"), nil)
	if err != nil {
		return f.again(w, r, params, isNew, err)
	}
	// A login's token is good for a minute, as published: too short to write a review.
	id, err := tokens{secret: f.sessions.Secret}.read(token)
	if err != nil {
		return err
	}
	f.sessions.Begin(w, f.tokens.Sign(accounts.Session{UserID: id, Username: username}), sessionLasts)
	http.Redirect(w, r, nextOf(params), http.StatusSeeOther)
	return nil
}

func (f *frontend) again(w http.ResponseWriter, r *http.Request, params web.Params, isNew bool, err error) error {
	problem := f.site.Explain(r, err)
	return f.show(w, r, problem.Status, "account", account{isNew, problem.Text, nextOf(params), params})
}

func (f *frontend) logOut(w http.ResponseWriter, r *http.Request) error {
	if _, err := f.ownForm(w, r); err != nil {
		return err
	}
	f.sessions.End(w)
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

// nextOf is where a form says to go next: a page of ours, whatever a link from elsewhere may say.
func nextOf(params web.Params) string {
	next := params.Get("next")
	address, err := url.Parse(next)
	if err != nil || address.Host != "" || address.Scheme != "" || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}
