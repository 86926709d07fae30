package social

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/accounts"
)

// reply is what a front end answered.
type reply struct {
	status int
	header http.Header
	body   string
}

// ask sends parameters ("name=value", encoded here): of a GET in the query, of a POST as a form. Redirects are not followed.
func ask(t *testing.T, method, address, token string, parameters ...string) reply {
	t.Helper()
	values := make(url.Values)
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(parameter, "=")
		values.Add(name, value)
	}
	body := strings.NewReader(values.Encode())
	if method == http.MethodGet {
		address += "?" + values.Encode()
		body.Reset("")
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if token != "" {
		r.AddCookie(&http.Cookie{Name: "login_token", Value: token})
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(content)}
}

func TestRequestsBecomeCalls(t *testing.T) {
	token := accounts.Tokens{Secret: fakeSecret}.Sign(accounts.Session{UserID: 7, Username: "ann"})
	for _, c := range []struct{ request, call, answered string }{
		{"POST /wrk2-api/user/register first_name=A last_name=B username=ann password=p user_id=7", "RegisterUserWithId A B ann p 7", "Success!\n"},
		{"POST /wrk2-api/user/follow user_id=1 followee_id=2", "Follow 1 2", "Success!\n"},
		{"GET /wrk2-api/user/follow user_name=a followee_name=b", "FollowWithUsername a b", "Success!\n"},
		{"POST /wrk2-api/user/follow user_id=1 followee_id=2 user_name=a followee_name=b", "Follow 1 2", "Success!\n"},
		{"POST /wrk2-api/user/unfollow user_id=1 followee_id=2", "Unfollow 1 2", "Success!\n"},
		{"POST /wrk2-api/user/unfollow user_name=a followee_name=b", "UnfollowWithUsername a b", "Success!\n"},
		{"POST /wrk2-api/post/compose username=a user_id=1 text=hi post_type=0", `ComposePost a 1 "hi" [] [] 0`, "Successfully upload post\n"},
		{`POST /wrk2-api/post/compose username=a user_id=1 text=hi post_type=3 media_ids=["9",8] media_types=["png","gif"]`, `ComposePost a 1 "hi" [9 8] [png gif] 3`, "Successfully upload post\n"},
		{"GET /wrk2-api/home-timeline/read user_id=1 start=0 stop=10", "ReadHomeTimeline 1 0 10", "[]\n"},
		{"POST /wrk2-api/user-timeline/read user_id=1 start=5 stop=10", "ReadUserTimeline 1 5 10", "[]\n"},
		{"POST /api/user/register first_name=A last_name=B username=ann password=p", "RegisterUser A B ann p", ""},
		{"POST /api/user/follow followee_id=2", "Follow 7 2", ""},
		{"POST /api/user/follow user_name=ann followee_name=b", "FollowWithUsername ann b", ""},
		{"POST /api/user/unfollow user_id=7 followee_id=2", "Unfollow 7 2", ""},
		{"POST /api/post/compose text=hi post_type=1", `ComposePost ann 7 "hi" [] [] 1`, "Successfully upload post\n"},
		{"GET /api/home-timeline/read start=0 stop=10", "ReadHomeTimeline 7 0 10", "[]\n"},
		{"GET /api/user-timeline/read start=0 stop=10", "ReadUserTimeline 7 0 10", "[]\n"},
		{"GET /api/user/get_follower", "GetFollowers 7", "[]\n"},
		{"GET /api/user/get_followee", "GetFollowees 7", "[]\n"},
	} {
		n, address := newFrontend(t, false)
		parts := strings.Split(c.request, " ")
		got := ask(t, parts[0], address+parts[1], token, parts[2:]...)
		if got.status >= 400 || got.body != c.answered || !slices.Equal(n.called(), []string{c.call}) {
			t.Errorf("%s: %d %q, calls %q", c.request, got.status, got.body, n.called())
		}
	}
}

func TestWhatServicesSayBecomesAStatus(t *testing.T) {
	const register = "POST /wrk2-api/user/register first_name=A last_name=B username=ann password=p user_id=7"
	for _, c := range []struct {
		request        string
		failure        error
		status, quirky int
		answered       string
	}{
		{register, exception.Conflict("User ann already existed"), 500, 500, "User registration failure: User ann already existed\n"},
		{register, exception.Invalid("odd"), 400, 500, "User registration failure: odd\n"},
		{"POST /wrk2-api/user/follow user_name=a followee_name=b", exception.NotFound("no b"), 500, 500, "Follow Failed: no b\n"},
		{"POST /wrk2-api/user/follow user_id=1 followee_id=2", exception.NotFound("no 2"), 404, 500, "Follow Failed: no 2\n"},
		{"POST /wrk2-api/user/unfollow user_name=a followee_name=b", exception.NotFound("no b"), 500, 500, "Unfollow Failed: no b\n"},
		{"POST /wrk2-api/post/compose username=a user_id=1 text=hi post_type=0", exception.Invalid("too long"), 400, 500, "compost_post failure: too long\n"},
		{"POST /wrk2-api/post/compose username=a user_id=1 text=hi post_type=0", io.ErrUnexpectedEOF, 500, 500, "compost_post failure: unexpected EOF\n"},
		{"GET /wrk2-api/home-timeline/read user_id=1 start=0 stop=10", exception.Invalid("x"), 400, 500, "Get home-timeline failure: x\n"},
		{"GET /wrk2-api/user-timeline/read user_id=1 start=0 stop=10", exception.RedisFailed(io.EOF), 500, 500, "Get user-timeline failure: redis: EOF\n"},
		{"POST /api/user/login username=a password=b", exception.Unauthorized("wrong"), 401, 500, "User login failure: wrong\n"},
		{"POST /api/user/register first_name=A last_name=B username=ann password=p", exception.Conflict("User ann already existed"), 500, 500, "User registration failure: User ann already existed\n"},
	} {
		for _, quirks := range []bool{false, true} {
			n, address := newFrontend(t, quirks)
			n.change(func() { n.fail = c.failure })
			parts := strings.Split(c.request, " ")
			got := ask(t, parts[0], address+parts[1], "", parts[2:]...)
			want := c.status
			if quirks {
				want = c.quirky
			}
			if got.status != want || got.body != c.answered || len(n.called()) != 1 {
				t.Errorf("%s, quirks %v: %d %q, calls %q", c.request, quirks, got.status, got.body, n.called())
			}
		}
	}
}

func TestWhatIsIncompleteIsNotPassedOn(t *testing.T) {
	n, address := newFrontend(t, false)
	for path, parameters := range map[string]string{
		"user/register":      "first_name=a last_name=b username=c password=d user_id=1",
		"user/follow":        "user_id=1 followee_id=2",
		"user/unfollow":      "user_name=1 followee_name=2",
		"post/compose":       "username=a user_id=1 text=b post_type=0",
		"home-timeline/read": "user_id=1 start=0 stop=1",
		"user-timeline/read": "user_id=1 start=0 stop=1",
	} {
		all := strings.Split(parameters, " ")
		for missing := range all {
			less := slices.Delete(slices.Clone(all), missing, missing+1)
			if got := ask(t, "POST", address+"/wrk2-api/"+path, "", less...); got.status != 400 || got.body != "Incomplete arguments\n" {
				t.Errorf("%s without %s: %d %q", path, all[missing], got.status, got.body)
			}
			name, _, _ := strings.Cut(all[missing], "=")
			odd := append(slices.Clone(less), name+"=-")
			if got := ask(t, "POST", address+"/wrk2-api/"+path, "", odd...); got.status != 400 && !strings.Contains(name, "name") &&
				name != "password" && name != "text" {
				t.Errorf("%s with odd %s: %d %q", path, name, got.status, got.body)
			}
		}
	}
	for _, media := range []string{`{`, `[1,`, `"a"`, `["x"]`, `[1.5]`, `[-1]`, `[9223372036854775808]`, `[{}]`} {
		if got := ask(t, "POST", address+"/wrk2-api/post/compose", "", "username=a", "user_id=1", "text=b", "post_type=0", "media_ids="+media, `media_types=["png"]`); got.status != 400 {
			t.Errorf("media_ids %s: %d %q", media, got.status, got.body)
		}
	}
	for _, call := range n.called() {
		if strings.HasPrefix(call, "ComposePost") && strings.Contains(call, "[png]") {
			t.Errorf("calls %q", call)
		}
	}
}

func TestOnlyTheUserOfTheCookieActs(t *testing.T) {
	tokens := accounts.Tokens{Secret: fakeSecret}
	own := tokens.Sign(accounts.Session{UserID: 7, Username: "ann"})
	forged := accounts.Tokens{Secret: "another"}.Sign(accounts.Session{UserID: 7, Username: "ann"})
	n, address := newFrontend(t, false)
	for _, request := range []string{
		"POST /api/user/follow followee_id=2", "POST /api/user/unfollow followee_id=2", "POST /api/post/compose text=a post_type=0",
		"GET /api/user/get_follower", "GET /api/user/get_followee", "GET /api/home-timeline/read start=0 stop=1", "GET /api/user-timeline/read start=0 stop=1",
	} {
		parts := strings.Split(request, " ")
		for name, token := range map[string]string{"no": "", "forged": forged, "odd": "x", "unsigned": "eyJhbGciOiJub25lIn0." + strings.Split(own, ".")[1] + "."} {
			if got := ask(t, parts[0], address+parts[1], token, parts[2:]...); got.status != 401 || !strings.Contains(got.body, "not logged in") {
				t.Errorf("%s with %s cookie: %d %q", request, name, got.status, got.body)
			}
		}
	}
	for _, another := range []string{"user_id=8", "user_name=bob"} {
		for _, path := range []string{"follow", "unfollow"} {
			if got := ask(t, "POST", address+"/api/user/"+path, own, another, "followee_id=2", "followee_name=eve"); got.status != 403 {
				t.Errorf("%s as another, %s: %d %q", path, another, got.status, got.body)
			}
		}
	}
	if got := ask(t, "GET", address+"/api/post/compose", own, "text=a", "post_type=0"); got.status != 405 {
		t.Errorf("a link that posts: %d %q", got.status, got.body)
	}
	if len(n.called()) != 0 {
		t.Errorf("calls %q", n.called())
	}
	if ask(t, "POST", address+"/api/post/compose", own, "text=a", "post_type=0", "user_id=8", "username=bob"); !slices.Equal(n.called(), []string{`ComposePost ann 7 "a" [] [] 0`}) {
		t.Errorf("a post that names another: calls %q", n.called())
	}
	n.change(func() { n.calls = nil })
	if got := ask(t, "POST", address+"/api/user/follow", own, "user_id=", "user_id=8", "followee_id=2"); !slices.Equal(n.called(), []string{"Follow 7 2"}) {
		t.Errorf("an empty field for the requesting user: %d %q, calls %q", got.status, got.body, n.called())
	}
}

func TestAsPublishedWithQuirks(t *testing.T) {
	n, address := newFrontend(t, true)
	if got := ask(t, "POST", address+"/api/post/compose", "", "text=a", "post_type=0"); got.status != 302 || got.header.Get("Location") != "../../index.html" {
		t.Errorf("compose without a cookie: %d %v", got.status, got.header)
	}
	if got := ask(t, "POST", address+"/api/user/follow", "", "user_id=1", "followee_id=2"); got.status != 302 || got.header.Get("Location") != "../../contact.html" {
		t.Errorf("follow without a cookie: %d %v", got.status, got.header)
	}
	if got := ask(t, "GET", address+"/wrk2-api/user-timeline/read", "", "user_id=1", "start=0", "stop=1"); got.body != "{}\n" {
		t.Errorf("an empty timeline: %q", got.body)
	}
	if want := []string{"Follow 1 2", "ReadUserTimeline 1 0 1"}; !slices.Equal(n.called(), want) {
		t.Errorf("calls %q", n.called())
	}
}

func TestLoginSetsTheCookie(t *testing.T) {
	n, address := newFrontend(t, false)
	n.change(func() { n.names, n.words = []string{"ann"}, []string{"p"} })
	got := ask(t, "POST", address+"/api/user/login", "", "username=ann", "password=p")
	cookie := got.header.Get("Set-Cookie")
	if got.status != 302 || got.header.Get("Location") != "../../main.html?username=ann" || !strings.HasPrefix(cookie, "login_token=") {
		t.Fatalf("%d %v", got.status, got.header)
	}
	for _, part := range []string{"Path=/", "Expires=", "HttpOnly", "SameSite=Lax"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("no %s in %q", part, cookie)
		}
	}
	token, _, _ := strings.Cut(strings.TrimPrefix(cookie, "login_token="), ";")
	if got := ask(t, "GET", address+"/api/user/get_follower", token); got.status != 200 || got.body != "[]\n" {
		t.Errorf("%d %q", got.status, got.body)
	}
	if got := ask(t, "OPTIONS", address+"/api/user/login", ""); got.status != 204 || got.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("OPTIONS: %d %v", got.status, got.header)
	}
}

func TestMediaAreForwarded(t *testing.T) {
	n, address := newFrontend(t, false)
	n.change(func() { n.files["12.png"] = "pixels" })
	if got := ask(t, "GET", address+"/get-media", "", "filename=12.png"); got.status != 200 || got.body != "pixels" {
		t.Errorf("%d %q", got.status, got.body)
	}
}

func TestFollowersAsJSON(t *testing.T) {
	token := accounts.Tokens{Secret: fakeSecret}.Sign(accounts.Session{UserID: 2})
	for quirks, want := range map[bool]string{false: `[{"follower_id":1},{"follower_id":3}]`, true: `[{"follower_id":"1"},{"follower_id":"3"}]`} {
		n, address := newFrontend(t, quirks)
		n.change(func() { n.edges = [][2]int64{{1, 2}, {3, 2}} })
		if got := ask(t, "GET", address+"/api/user/get_follower", token); got.status != 200 || got.body != want+"\n" {
			t.Errorf("quirks %v: %d %s", quirks, got.status, got.body)
		}
	}
}
