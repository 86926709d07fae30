package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"loadstone.dev/stone/platform/web"
)

var sessions = web.Sessions{Cookie: "login_token", Secret: "s"}

// with makes a request with the cookies that answers set.
func with(answers ...*httptest.ResponseRecorder) *http.Request {
	r := httptest.NewRequest("POST", "/", nil)
	for _, answer := range answers {
		for _, cookie := range answer.Result().Cookies() {
			r.AddCookie(cookie)
		}
	}
	return r
}

func TestASessionIsACookieThatScriptsCannotRead(t *testing.T) {
	answer := httptest.NewRecorder()
	sessions.Begin(answer, "token", time.Hour)
	cookie := answer.Result().Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || time.Until(cookie.Expires) > time.Hour {
		t.Errorf("%+v", cookie)
	}
	if token := sessions.Token(with(answer)); token != "token" {
		t.Errorf("token %q", token)
	}
	if token := sessions.Token(with()); token != "" {
		t.Errorf("token %q of no user", token)
	}
	answer = httptest.NewRecorder()
	sessions.End(answer)
	if cookie := answer.Result().Cookies()[0]; cookie.Name != "login_token" || cookie.MaxAge >= 0 {
		t.Errorf("at the end %+v", cookie)
	}
}

func TestAFormBelongsToItsBrowserAndSession(t *testing.T) {
	mine, other, loggedIn := httptest.NewRecorder(), httptest.NewRecorder(), httptest.NewRecorder()
	first := with()
	token := sessions.FormToken(mine, first)
	if again := sessions.FormToken(mine, first); again != token || len(mine.Result().Cookies()) != 1 {
		t.Errorf("two forms of a page: %v", mine.Result().Cookies())
	}
	foreign := sessions.FormToken(other, with())
	sessions.Begin(loggedIn, "token", time.Hour)
	if again := sessions.FormToken(httptest.NewRecorder(), with(mine)); again != token {
		t.Error("the same browser got another token")
	}
	for name, c := range map[string]struct {
		r    *http.Request
		sent string
		good bool
	}{
		"own":                {with(mine), token, true},
		"after login":        {with(mine, loggedIn), token, false},
		"of another":         {with(mine), foreign, false},
		"without cookies":    {with(), token, false},
		"empty":              {with(mine), "", false},
		"from after a login": {with(mine, loggedIn), sessions.FormToken(mine, with(mine, loggedIn)), true},
	} {
		if err := sessions.CheckForm(c.r, c.sent); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	if (web.Sessions{Cookie: "login_token", Secret: "other"}).CheckForm(with(mine), token) == nil {
		t.Error("another secret's token was taken")
	}
}
