package media_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/accounts"
)

// visitor requests pages as a browser does: it keeps cookies and sends the form that it was given. It follows no redirects.
type visitor struct {
	*subject
	cookies map[string]string
	form    string
}

func (s *subject) visitor() *visitor { return &visitor{subject: s, cookies: map[string]string{}} }

var formToken = regexp.MustCompile(`name="form" value="([^"]*)"`)

func (v *visitor) open(t *testing.T, path string) reply {
	t.Helper()
	return v.send(t, "GET", path, "")
}

// submit posts a form, with the token of the page that was opened last.
func (v *visitor) submit(t *testing.T, path string, parameters ...string) reply {
	t.Helper()
	return v.send(t, "POST", path, form(append(parameters, "form="+v.form)...))
}

func (v *visitor) send(t *testing.T, method, path, body string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, v.base+path, strings.NewReader(body))
	check(t, err)
	if method == "POST" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range v.cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	got := ask(t, request)
	for _, cookie := range (&http.Response{Header: got.header}).Cookies() {
		v.cookies[cookie.Name] = cookie.Value
	}
	if found := formToken.FindStringSubmatch(got.body); found != nil {
		v.form = html.UnescapeString(found[1])
	}
	return got
}

// logIn makes an account and logs in.
func (v *visitor) logIn(t *testing.T) string {
	t.Helper()
	user := v.user(t)
	v.open(t, "/login")
	v.submit(t, "/login", "username="+user, "password=password").expectRedirect(t, "login", "/")
	return user
}

func (got reply) expectRedirect(t *testing.T, what, to string) {
	t.Helper()
	if got.status != http.StatusSeeOther || got.header.Get("Location") != to {
		t.Errorf("%s: %d to %q, want %q: %.300s", what, got.status, got.header.Get("Location"), to, got.body)
	}
}

// expectPage fails unless the answer is a whole page that has these words and may load nothing from elsewhere.
func (got reply) expectPage(t *testing.T, what string, status int, words ...string) {
	t.Helper()
	if got.status != status || !strings.HasSuffix(got.body, "</html>\n") {
		t.Errorf("%s: %d, want %d: %.300s", what, got.status, status, got.body)
	}
	for _, word := range words {
		if !strings.Contains(got.body, word) {
			t.Errorf("%s: no %q in %s", what, word, got.body)
		}
	}
	policy := got.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "script-src") || got.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: headers %v", what, got.header)
	}
}

func testBrowsing(t *testing.T, s *subject) {
	v := s.visitor()
	begin := s.name("Browse")
	for i := range 30 {
		s.post(t, "/wrk2-api/movie/register", fmt.Sprintf("title=%s %02d <b>", begin, i), "movie_id="+s.name("a/b?")).expect(t, "film", 200, "")
	}
	first := v.open(t, "/?q="+begin)
	first.expectPage(t, "films", 200, begin+" 00 &lt;b&gt;", begin+" 24", "More films")
	if strings.Contains(first.body, begin+" 25") || strings.Contains(first.body, "From the beginning") {
		t.Errorf("more than a page: %s", first.body)
	}
	more := html.UnescapeString(regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(first.body)[1])
	second := v.open(t, more)
	second.expectPage(t, "more films", 200, begin+" 25", begin+" 29", "From the beginning")
	if strings.Contains(second.body, begin+" 24") || strings.Contains(second.body, "More films") {
		t.Errorf("the second page: %s", second.body)
	}
	v.open(t, "/?q="+strings.ToLower(begin)).expectPage(t, "small letters", 200, begin+" 00")
	v.open(t, "/?q="+s.name("None")).expectPage(t, "none found", 200, "No film has a title that begins with")
	v.open(t, "/").expectPage(t, "all films", 200, "<title>Films</title>", `href="/login?next=%2f"`)
	v.open(t, "/?q=%ff").expectPage(t, "broken", 400, "q: not UTF-8")
	v.open(t, "/nothing").expectPage(t, "no page", 404, "there is no such page")
	missing := s.either(404, 500)
	v.open(t, "/film/"+s.name("none")).expectPage(t, "no film", missing, "there is no movie ")
	v.open(t, "/user/x").expectPage(t, "no user", 404, "there is no such user")
	v.open(t, "/user/"+fmt.Sprint(s.number())).expectPage(t, "a user without reviews", 200, "There are no reviews yet.")
	for _, start := range []string{"-1", "x", "99999999999"} {
		v.open(t, "/user/1?start="+start).expectPage(t, "start "+start, 400, "start: ")
	}
	style := v.open(t, "/style.css")
	if !strings.HasPrefix(style.header.Get("Content-Type"), "text/css") || style.status != 200 {
		t.Errorf("style sheet: %d %v", style.status, style.header)
	}
}

func (s *subject) either(status, published int) int {
	if s.quirks {
		return published
	}
	return status
}

func testAccountPages(t *testing.T, s *subject) {
	v := s.visitor()
	name := s.name("new")
	account := []string{"first_name=A", "last_name=B", "username=" + name, "password=secret"}
	v.open(t, "/register?next=/film/7").expectPage(t, "register", 200, `name="next" value="/film/7"`)
	v.submit(t, "/register", append(account, "next=/film/7")...).expectRedirect(t, "register", "/film/7")
	v.open(t, "/").expectPage(t, "logged in", 200, name, "Log out")
	v.submit(t, "/logout").expectRedirect(t, "logout", "/")
	v.open(t, "/").expectPage(t, "logged out", 200, "Log in")
	v.open(t, "/register")
	again := v.submit(t, "/register", account...)
	again.expectPage(t, "a name that is taken", s.either(409, 500), "already existed", `value="`+name+`"`)
	if strings.Contains(again.body, "secret") {
		t.Error("the password is shown again")
	}
	v.submit(t, "/register", "first_name=A", "last_name=B", "username=<b>", "password=x").
		expectPage(t, "an odd name", s.either(400, 500), "&lt;b&gt;")
	v.open(t, "/login")
	v.submit(t, "/login", "username="+name, "password=wrong").
		expectPage(t, "a wrong password", s.either(401, 500), "the username or the password is wrong", `value="`+name+`"`)
	if v.cookies["login_token"] != "" {
		t.Error("a wrong password begins a session")
	}
	for next, to := range map[string]string{
		"/film/7?start=25": "/film/7?start=25", "//evil.example": "/", "https://evil.example/": "/", "/\\evil.example": "/", "x": "/", "": "/",
	} {
		v.open(t, "/login")
		v.submit(t, "/login", "username="+name, "password=secret", "next="+next).expectRedirect(t, "next "+next, to)
	}
}

func testReviewPages(t *testing.T, s *subject) {
	film := s.film(t)
	v := s.visitor()
	v.open(t, "/film/"+film.id).expectPage(t, "film", 200, film.title, "Rated 7.5 of 10 by 12 people", "Nothing happens.", "Hilda",
		"Vera Corvane", "Was a judge.", "There are no reviews yet.", "to write one")
	v.logIn(t)
	v.open(t, "/film/"+film.id).expectPage(t, "film", 200, "<textarea")
	v.submit(t, "/film/"+film.id+"/write", "rating=3", "text=<script>alert(1)</script>\nline").expectRedirect(t, "review", "/film/"+film.id)
	v.submit(t, "/film/"+film.id+"/write", "rating=8", "text=better").expectRedirect(t, "review", "/film/"+film.id)
	page := v.open(t, "/film/"+film.id)
	page.expectPage(t, "reviews", 200, "&lt;script&gt;alert(1)&lt;/script&gt;", "1 to 2, the newest first; on average 5.5 of 10")
	if strings.Contains(page.body, "<script") || strings.Index(page.body, "better") > strings.Index(page.body, "alert(1)") {
		t.Errorf("reviews are wrong: %s", page.body)
	}
	user := regexp.MustCompile(`href="(/user/\d+)"`).FindStringSubmatch(page.body)[1]
	v.open(t, user).expectPage(t, "user", 200, film.title, `href="/film/`+url.PathEscape(film.id)+`"`, "better", "1 to 2")

	v.submit(t, "/film/"+film.id+"/write", "rating=3").expectPage(t, "no text", 400, "the review is empty")
	v.submit(t, "/film/"+film.id+"/write", "rating=x", "text=t").expectPage(t, "no rating", 400, "rating: ")
	v.submit(t, "/film/"+film.id+"/write", "rating=3", "text=\xff").expectPage(t, "broken", s.either(400, 500), "text: not UTF-8")
	v.submit(t, "/film/"+s.name("none")+"/write", "rating=3", "text=t").expectPage(t, "no film", s.either(404, 500), "there is no movie ")
	for i := range 24 {
		v.submit(t, "/film/"+film.id+"/write", "rating=8", fmt.Sprintf("text=more %d", i)).expectRedirect(t, "review", "/film/"+film.id)
	}
	v.open(t, "/film/"+film.id).expectPage(t, "newest", 200, "more 23", `href="?start=25"`, "1 to 25")
	older := v.open(t, "/film/"+film.id+"?start=25")
	older.expectPage(t, "older", 200, "alert(1)", `href="?start=0"`, "26 to 26")
	if strings.Contains(older.body, "better") || strings.Contains(older.body, "Older") {
		t.Errorf("the second page: %s", older.body)
	}
	v.open(t, "/film/"+film.id+"?start=50").expectPage(t, "beyond", 200, "There are no further reviews.")
}

func testForgedForms(t *testing.T, s *subject) {
	film := s.film(t)
	path := "/film/" + film.id + "/write"
	v := s.visitor()
	v.open(t, "/film/"+film.id)
	v.submit(t, path, "rating=3", "text=t").expectPage(t, "you are not logged in", 401, "you are not logged in")
	user := v.logIn(t)
	v.open(t, "/film/"+film.id)
	own := v.form
	other := s.visitor()
	other.logIn(t)
	other.open(t, "/film/"+film.id)
	for what, token := range map[string]string{"none": "", "another's": other.form, "a shorter one": own[1:]} {
		v.form = token
		v.submit(t, path, "rating=3", "text=t").expectPage(t, "form token: "+what, 403, "this form is out of date")
		v.form = token
		v.submit(t, "/logout").expectPage(t, "form token: "+what, 403, "this form is out of date")
	}
	v.form = own
	v.submit(t, path, "rating=3", "text=mine").expectRedirect(t, "one's own", "/film/"+film.id)
	sessions := map[string]string{"forged": accounts.Tokens{Secret: "another"}.Sign(accounts.Session{UserID: 1, Username: user}), "nonsense": "x.y.z"}
	if s.secret != "" { // a login's token is no session
		got := s.post(t, "/wrk2-api/user/login", "username="+user, "password=password")
		var answer struct{ Token string }
		got.decode(t, &answer)
		sessions["of the API"] = answer.Token
	}
	for what, session := range sessions {
		v.cookies["login_token"] = session
		v.open(t, "/film/"+film.id).expectPage(t, "session: "+what, 200, "to write one")
		v.submit(t, path, "rating=3", "text=t").expectPage(t, "session: "+what, 401, "you are not logged in")
	}
	if got := fmt.Sprint(texts(s.page(t, film.id, 0, 10).Reviews)); got != "[mine]" {
		t.Errorf("stored: %s", got)
	}
}
