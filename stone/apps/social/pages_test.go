package social

import (
	"bytes"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/accounts"
)

// visitor is a browser without scripts.
type visitor struct {
	t    *testing.T
	base string
	http.Client
}

func newVisitor(t *testing.T, base string) *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, base, http.Client{Jar: jar}}
}

func (v *visitor) do(method, path, contentType string, body io.Reader) reply {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	response, err := v.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	response.Header.Set("At", response.Request.URL.Path)
	return reply{response.StatusCode, response.Header, string(content)}
}

func (v *visitor) open(path string) reply { v.t.Helper(); return v.do("GET", path, "", nil) }

var formToken = regexp.MustCompile(`name="form" value="([^"]+)"`)

// token is that of the forms of a page.
func (v *visitor) token(path string) string {
	v.t.Helper()
	page := v.open(path)
	found := formToken.FindStringSubmatch(page.body)
	if found == nil {
		v.t.Fatalf("%s has no form: %d %s", path, page.status, page.body)
	}
	return html.UnescapeString(found[1])
}

// send sends a form that a page shows.
func (v *visitor) send(page, action string, fields url.Values) reply {
	v.t.Helper()
	if fields == nil {
		fields = url.Values{}
	}
	fields.Set("form", v.token(page))
	return v.do("POST", action, "application/x-www-form-urlencoded", strings.NewReader(fields.Encode()))
}

func (v *visitor) signUp(name string) {
	v.t.Helper()
	got := v.send("/signup", "/signup", url.Values{"first_name": {"F"}, "last_name": {"L"}, "username": {name}, "password": {"word"}})
	if got.status != 200 || got.header.Get("At") != "/home" || !strings.Contains(got.body, `href="/users/`+name+`"`) {
		v.t.Fatalf("sign up: %d at %s: %s", got.status, got.header.Get("At"), got.body)
	}
}

// compose posts a text with files by name.
func (v *visitor) compose(token, text string, files ...string) reply {
	v.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("form", token)
	_ = form.WriteField("text", text)
	for _, name := range files {
		part, _ := form.CreateFormFile("pictures", name)
		_, _ = part.Write([]byte("pixels of " + name))
	}
	_ = form.Close()
	return v.do("POST", "/compose", form.FormDataContentType(), &body)
}

func TestTwoPeopleMeet(t *testing.T) {
	n, address := newFrontend(t, false)
	ann, bob := newVisitor(t, address), newVisitor(t, address)
	ann.signUp("ann")
	bob.signUp("bob")
	posted := bob.compose(bob.token("/home"), "<script>alert(1)</script> hello @ann", "cat.png", "film.mp4")
	if posted.header.Get("At") != "/users/bob" || n.stored()["1.png"] != "pixels of cat.png" || n.stored()["2.mp4"] != "pixels of film.mp4" {
		t.Fatalf("at %s, stored %v", posted.header.Get("At"), n.stored())
	}
	if home := ann.open("/home"); !strings.Contains(home.body, "Nothing yet") {
		t.Errorf("before following: %s", home.body)
	}
	if got := ann.send("/users/bob", "/users/bob/follow", nil); got.header.Get("At") != "/users/bob" || !strings.Contains(got.body, "Unfollow") {
		t.Errorf("after following: %d %s", got.status, got.body)
	}
	home := ann.open("/home").body
	for _, part := range []string{
		"&lt;script&gt;alert(1)&lt;/script&gt; hello ", `<a href="/users/ann">@ann</a>`, `<img src="/get-media?filename=1.png"`,
		`<video src="/get-media?filename=2.mp4"`, `<a href="/users/bob">bob</a>`,
	} {
		if !strings.Contains(home, part) {
			t.Errorf("no %s in %s", part, home)
		}
	}
	if strings.Contains(home, "<script") {
		t.Error("a script of a post is in the page")
	}
	if list := ann.open("/contact.html"); list.header.Get("At") != "/users/ann/followees" || !strings.Contains(list.body, `href="/users/bob"`) {
		t.Errorf("contacts: %s", list.body)
	}
	if list := ann.open("/users/bob/followers"); !strings.Contains(list.body, "1 in all") || !strings.Contains(list.body, `href="/users/ann"`) {
		t.Errorf("followers: %s", list.body)
	}
	if ann.send("/users/bob", "/users/bob/unfollow", nil); len(n.followed()) != 0 {
		t.Errorf("after unfollowing: %v", n.followed())
	}
	if got := ann.send("/home", "/logout", nil); got.header.Get("At") != "/login" {
		t.Errorf("after logging out at %s", got.header.Get("At"))
	}
	if got := ann.open("/home"); got.header.Get("At") != "/login" {
		t.Errorf("logged out, /home leads to %s", got.header.Get("At"))
	}
}

func TestAFormWithoutItsTokenChangesNothing(t *testing.T) {
	n, address := newFrontend(t, false)
	ann, eve := newVisitor(t, address), newVisitor(t, address)
	ann.signUp("ann")
	eve.signUp("eve")
	n.change(func() { n.calls = nil })
	others := eve.token("/home")
	for _, path := range []string{"/login", "/signup", "/logout", "/users/eve/follow", "/users/eve/unfollow"} {
		for _, token := range []string{"", others} {
			fields := url.Values{"username": {"x"}, "password": {"y"}, "first_name": {"a"}, "last_name": {"b"}, "form": {token}}
			if got := ann.do("POST", path, "application/x-www-form-urlencoded", strings.NewReader(fields.Encode())); got.status != 403 {
				t.Errorf("%s: %d", path, got.status)
			}
		}
	}
	if got := ann.compose(others, "text", "cat.png"); got.status != 403 || len(n.stored()) != 0 {
		t.Errorf("compose: %d, stored %v", got.status, n.stored())
	}
	if slices.ContainsFunc(n.called(), func(call string) bool { return !strings.HasPrefix(call, "ReadHomeTimeline") }) {
		t.Errorf("calls %q", n.called())
	}
	if ann.open("/home").header.Get("At") != "/home" {
		t.Error("a forged form logged out")
	}
}

func TestPagesAreForThoseWhoAreLoggedIn(t *testing.T) {
	n, address := newFrontend(t, false)
	for _, path := range []string{"/home", "/compose", "/users", "/users/ann", "/users/ann/followers", "/users/ann/followees", "/profile.html", "/contact.html"} {
		if got := ask(t, "GET", address+path, ""); got.status != 303 || got.header.Get("Location") != "/login" {
			t.Errorf("%s without a cookie: %d %v", path, got.status, got.header)
		}
		forged := accounts.Tokens{Secret: "another"}.Sign(accounts.Session{UserID: 0, Username: "ann"})
		if got := ask(t, "GET", address+path, forged); got.status != 401 || !strings.Contains(got.body, "Your session has ended") {
			t.Errorf("%s with a forged cookie: %d %s", path, got.status, got.body)
		}
	}
	if len(n.called()) != 0 {
		t.Errorf("calls %q", n.called())
	}
}

func TestMistakesAreShownWhereTheyWereMade(t *testing.T) {
	n, address := newFrontend(t, false)
	ann := newVisitor(t, address)
	ann.signUp("ann")
	other := newVisitor(t, address)
	taken := other.send("/signup", "/signup", url.Values{"first_name": {"A"}, "last_name": {`"><b>`}, "username": {"ann"}, "password": {"x"}})
	if taken.status != 409 || !strings.Contains(taken.body, "User ann already existed") || !strings.Contains(taken.body, `value="&#34;&gt;&lt;b&gt;"`) {
		t.Errorf("a name that is taken: %d %s", taken.status, taken.body)
	}
	if wrong := other.send("/login", "/login", url.Values{"username": {"ann"}, "password": {"x"}}); wrong.status != 401 || !strings.Contains(wrong.body, "Incorrect username or password") {
		t.Errorf("a wrong password: %d %s", wrong.status, wrong.body)
	}
	if empty := other.send("/login", "/login", nil); empty.status != 400 {
		t.Errorf("nothing entered: %d %s", empty.status, empty.body)
	}
	if long := ann.compose(ann.token("/compose"), strings.Repeat("x", longestText+1), "cat.png"); long.status != 400 || !strings.Contains(long.body, "xxx</textarea>") || len(n.stored()) != 0 {
		t.Errorf("a text that is too long: %d, stored %v", long.status, n.stored())
	}
	if none := ann.compose(ann.token("/compose"), ""); none.status != 400 || !strings.Contains(none.body, "has no text") {
		t.Errorf("no text: %d %s", none.status, none.body)
	}
	if unknown := ann.open("/users?name=no+body"); unknown.status != 404 || !strings.Contains(unknown.body, "not registered") {
		t.Errorf("unknown user: %d %s", unknown.status, unknown.body)
	}
	if unnamed := ann.open("/users?name="); unnamed.status != 400 || !strings.Contains(unnamed.body, "write the name of a user") {
		t.Errorf("no name: %d %s", unnamed.status, unnamed.body)
	}
	n.change(func() { n.fail = io.ErrUnexpectedEOF })
	if broken := ann.open("/home"); broken.status != 500 || !strings.Contains(broken.body, "unexpected EOF") {
		t.Errorf("a service that fails: %d %s", broken.status, broken.body)
	}
}

func TestTimelinesHavePages(t *testing.T) {
	n, address := newFrontend(t, false)
	ann := newVisitor(t, address)
	ann.signUp("ann")
	for range postsOnPage + 1 {
		ann.compose(ann.token("/compose"), "again")
	}
	first := ann.open("/users/ann").body
	if strings.Count(first, "<article") != postsOnPage || !strings.Contains(first, `href="/users/ann?from=20"`) || strings.Contains(first, "Newer") {
		t.Errorf("first page: %s", first)
	}
	second := ann.open("/users/ann?from=20").body
	if strings.Count(second, "<article") != 1 || !strings.Contains(second, `href="/users/ann?from=0"`) || strings.Contains(second, "Older") {
		t.Errorf("second page: %s", second)
	}
	for _, from := range []string{"-1", "x", "99999999999999999999"} {
		if got := ann.open("/users/ann?from=" + from); got.status != 200 {
			t.Errorf("from=%s: %d", from, got.status)
		}
	}
	for id := range peopleOnPage + 1 {
		n.change(func() { n.edges = append(n.edges, [2]int64{int64(id + 1), 0}) })
	}
	if people := ann.open("/users/ann/followers").body; !strings.Contains(people, "51 in all") || !strings.Contains(people, "from=50") {
		t.Errorf("contacts: %s", people)
	}
}

func TestPagesLoadNothingForeign(t *testing.T) {
	_, address := newFrontend(t, false)
	page := ask(t, "GET", address+"/login", "")
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; media-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options":  "nosniff", "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
	} {
		if got := page.header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if strings.Contains(page.body, "style=") || strings.Contains(page.body, "<script") {
		t.Error("something inline, which the policy refuses")
	}
	for path, contentType := range map[string]string{"/style.css": "text/css; charset=utf-8", "/icon.svg": "image/svg+xml"} {
		if got := ask(t, "GET", address+path, ""); got.status != 200 || got.header.Get("Content-Type") != contentType {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
	}
	for path, to := range map[string]string{"/": "/home", "/index.html": "/home", "/main.html": "/home", "/signup.html": "/signup"} {
		if got := ask(t, "GET", address+path, ""); got.status != 302 || got.header.Get("Location") != to {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
	}
}
