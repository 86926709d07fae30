package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

// visitorCookie holds a random value of a browser, so that forms are bound to it before anyone logs in.
const visitorCookie = "visitor"

// Sessions keeps a signed token in a cookie and makes tokens for forms out of it.
type Sessions struct {
	Cookie string // its name
	Secret string // the deployment's secret
}

// Token is the token that came with a request, empty if none did. Whether it is genuine is for its signer to say.
func (s Sessions) Token(r *http.Request) string {
	cookie, err := r.Cookie(s.Cookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// Begin gives the browser a token. Scripts cannot read it and other sites' forms do not send it.
func (s Sessions) Begin(w http.ResponseWriter, token string, lasts time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: s.Cookie, Value: token, Path: "/", Expires: time.Now().Add(lasts), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

// End takes the token away from the browser.
func (s Sessions) End(w http.ResponseWriter) {
	http.SetCookie(w, &http.Cookie{Name: s.Cookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode})
}

// FormToken goes into a hidden field of every form that a page shows to this browser. It may set a cookie, so it comes
// before the page.
func (s Sessions) FormToken(w http.ResponseWriter, r *http.Request) string {
	if cookie, err := r.Cookie(visitorCookie); err == nil && cookie.Value != "" {
		return s.formToken(cookie.Value, s.Token(r))
	}
	visitor := &http.Cookie{Name: visitorCookie, Value: rand.Text(), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	http.SetCookie(w, visitor)
	r.AddCookie(visitor) // for the other forms of this page
	return s.formToken(visitor.Value, s.Token(r))
}

// CheckForm refuses a form that no page of ours gave to this browser in this session.
func (s Sessions) CheckForm(r *http.Request, sent string) error {
	cookie, err := r.Cookie(visitorCookie)
	if err != nil || cookie.Value == "" || !hmac.Equal([]byte(sent), []byte(s.formToken(cookie.Value, s.Token(r)))) {
		return Problemf(http.StatusForbidden, "this form is out of date: open its page again and send it from there")
	}
	return nil
}

func (s Sessions) formToken(visitor, session string) string {
	mac := hmac.New(sha256.New, []byte(s.Secret))
	mac.Write([]byte(strings.Join([]string{"form", visitor, session}, "\x00")))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
