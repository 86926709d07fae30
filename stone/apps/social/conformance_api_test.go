package social_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"loadstone.dev/stone/platform/accounts"
)

func testLoggingIn(t *testing.T, s *subject) {
	name := fmt.Sprintf("person_%d", s.next)
	s.next++
	complete := []string{"first_name=F", "last_name=L", "username=" + name, "password=secret"}
	got := s.post(t, "/api/user/register", "", complete...)
	got.expect(t, "register", 302, "")
	if to := got.header.Get("Location"); to != "../../index.html" {
		t.Errorf("register leads to %q", to)
	}
	s.expectNothingStored(t, "registering again", func() {
		s.post(t, "/api/user/register", "", complete...).expect(t, "a name that is taken", 500, "User registration failure: User "+name+" already existed\n")
		s.post(t, "/api/user/register", "", complete[1:]...).expect(t, "no first name", 400, incomplete)
	})

	got = s.post(t, "/api/user/login", "", "username="+name, "password=secret")
	got.expect(t, "login", 302, "")
	if to := got.header.Get("Location"); to != "../../main.html?username="+name {
		t.Errorf("login leads to %q", to)
	}
	cookie := got.header.Get("Set-Cookie")
	for _, part := range []string{"login_token=", "Path=/", "Expires="} {
		if !strings.Contains(cookie, part) {
			t.Errorf("no %s in %q", part, cookie)
		}
	}
	token, _, _ := strings.Cut(strings.TrimPrefix(cookie, "login_token="), ";")
	var payload map[string]string
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(token, claims); err != nil {
		t.Fatal(err)
	}
	encoded, _ := json.Marshal(claims)
	decode(t, string(encoded), &payload)
	if payload["username"] != name || payload["ttl"] != "3600" || payload["user_id"] == "" || payload["timestamp"] == "" || len(payload) != 4 {
		t.Errorf("payload %v", payload)
	}
	for _, wrong := range [][]string{{"username=" + name, "password=guess"}, {"username=nobody_at_all", "password=secret"}, {"username=\xff", "password=x"}} {
		s.post(t, "/api/user/login", "", wrong...).expect(t, fmt.Sprint(wrong), s.either(401, 500), "User login failure: ")
	}
	s.post(t, "/api/user/login", "", "username="+name).expect(t, "no password", 400, incomplete)
	s.post(t, "/api/user/login", "").expect(t, "nothing", 400, incomplete)
}

// testSessions: operations that need a login are refused without it.
func testSessions(t *testing.T, s *subject) {
	ann := s.register(t, 1)[0]
	genuine := s.logIn(t, ann)
	parts := strings.Split(genuine, ".")
	invalid := map[string]string{
		"no cookie": "", "noise": "x", "another's signature": accounts.Tokens{Secret: "guess"}.Sign(accounts.Session{UserID: ann.id, Username: ann.name}),
		"no signature": "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0." + parts[1] + ".", "a changed payload": parts[0] + "." + parts[1][1:] + "." + parts[2],
	}
	if s.secret != "" {
		expired, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"user_id": ann.String(), "username": ann.name, "ttl": "3600", "timestamp": fmt.Sprint(time.Now().Unix() - 3700),
		}).SignedString([]byte(s.secret))
		if err != nil {
			t.Fatal(err)
		}
		invalid["an expired one"] = expired
	}
	s.expectNothingStored(t, "asking without a session", func() {
		for what, cookie := range invalid {
			for _, path := range []string{"user/get_follower", "user/get_followee", "home-timeline/read", "user-timeline/read"} {
				s.get(t, "/api/"+path, cookie, "start=0", "stop=1").expect(t, path+" with "+what, 401, "not logged in")
			}
			got := s.post(t, "/api/post/compose", cookie, "text=x", "post_type=0")
			if s.quirks { // published: sent to where one logs in
				got.expect(t, "compose with "+what, 302, "")
				continue
			}
			got.expect(t, "compose with "+what, 401, "not logged in")
			for _, path := range []string{"/api/user/follow", "/api/user/unfollow"} {
				s.post(t, path, cookie, "user_id="+ann.String(), "followee_id=1").expect(t, path+" with "+what, 401, "not logged in")
			}
		}
	})
	for _, path := range []string{"home-timeline", "user-timeline"} {
		if posts := s.list(t, s.get(t, "/api/"+path+"/read", genuine, "start=0", "stop=10")); len(posts) != 0 {
			t.Errorf("a new user's %s has %v", path, posts)
		}
		s.get(t, "/api/"+path+"/read", genuine, "start=0").expect(t, "no stop", 400, incomplete)
		s.get(t, "/api/"+path+"/read", genuine, "start=x", "stop=1").expect(t, "no number", 400, "start: ")
	}
	got := s.send(t, "OPTIONS", s.base+"/api/user/login", "", "", "")
	if got.status != 204 || got.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("OPTIONS: %d %v", got.status, got.header)
	}
}

func testActingAsOneself(t *testing.T, s *subject) {
	people := s.register(t, 3)
	ann, bob, eve := people[0], people[1], people[2]
	cookies := map[person]string{ann: s.logIn(t, ann), bob: s.logIn(t, bob)}
	got := s.post(t, "/api/user/follow", cookies[bob], "user_id="+bob.String(), "followee_id="+ann.String())
	got.expect(t, "follow", 302, "")
	if to := got.header.Get("Location"); to != "../../contact.html" {
		t.Errorf("follow leads to %q", to)
	}
	followers := s.list(t, s.get(t, "/api/user/get_follower", cookies[ann]))
	if len(followers) != 1 || followers[0].(map[string]any)["follower_id"] != s.id(bob) {
		t.Errorf("followers %v", followers)
	}
	// The session's user writes, whichever user is named.
	s.post(t, "/api/post/compose", cookies[ann], "text=mine", "post_type=0", "user_id="+eve.String(), "username="+eve.name).
		expect(t, "compose", 200, "Successfully upload post")
	for of, path := range map[person]string{ann: "user-timeline", bob: "home-timeline"} {
		posts := s.list(t, s.get(t, "/api/"+path+"/read", cookies[of], "start=0", "stop=10"))
		if len(posts) != 1 || posts[0].(map[string]any)["text"] != "mine" || posts[0].(map[string]any)["creator"].(map[string]any)["username"] != ann.name {
			t.Errorf("%s: %v", path, posts)
		}
	}
	if posts := s.timeline(t, "user", eve, 0, 10); len(posts) != 0 {
		t.Errorf("who was named has %v", posts)
	}
	s.post(t, "/api/post/compose", cookies[ann], "text=x").expect(t, "no type", 400, incomplete)
	s.post(t, "/api/user/follow", cookies[bob], "user_name="+bob.name, "followee_name=nobody_at_all").expect(t, "an unknown name", 500, "Follow Failed: ")
	s.post(t, "/api/user/unfollow", cookies[bob]).expect(t, "nobody", 400, incomplete)
	s.post(t, "/api/user/unfollow", cookies[bob], "user_name="+bob.name, "followee_name="+ann.name).expect(t, "unfollow", 200, "")
	if s.quirks {
		return // published: the session is not checked, by any method
	}
	if followers := s.list(t, s.get(t, "/api/user/get_follower", cookies[ann])); len(followers) != 0 {
		t.Errorf("followers %v", followers)
	}
	s.expectNothingStored(t, "acting as another", func() {
		s.post(t, "/api/user/follow", cookies[bob], "user_id="+ann.String(), "followee_id="+eve.String()).expect(t, "as another by id", 403, "user_id: ")
		s.post(t, "/api/user/unfollow", cookies[bob], "user_name="+ann.name, "followee_name="+eve.name).expect(t, "as another by name", 403, "user_name: ")
		if got := s.get(t, "/api/post/compose", cookies[bob], "text=x", "post_type=0"); got.status != 405 {
			t.Errorf("a link that posts: %d", got.status)
		}
	})
}

// uploadOf is a form with a file.
func uploadOf(name string, content []byte) (contentType, body string) {
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	part, err := writer.CreateFormFile("media", name)
	if err == nil {
		_, err = part.Write(content)
	}
	if err != nil || writer.Close() != nil {
		panic("writing to memory failed")
	}
	return writer.FormDataContentType(), form.String()
}

// testMediaFiles calls the media front end directly, where it can be reached, and through the front end.
func testMediaFiles(t *testing.T, s *subject) {
	for _, base := range []string{s.base, s.media} {
		if base == "" {
			continue
		}
		contentType, body := uploadOf("cat.PNG", picture)
		if s.quirks {
			contentType, body = uploadOf("cat.png", picture)
		}
		got := s.send(t, "POST", base+"/upload-media", "", contentType, body)
		got.expect(t, "upload", 200, "{")
		var stored struct {
			ID   string `json:"media_id"`
			Type string `json:"media_type"`
		}
		decode(t, got.body, &stored)
		file := base + "/get-media?filename=" + stored.ID + "." + stored.Type
		got = s.send(t, "GET", file, "", "", "")
		if stored.Type != "png" || got.status != 200 || got.header.Get("Content-Type") != "image/png" || strings.TrimSuffix(got.body, "\n") != string(picture) {
			t.Errorf("%+v: %d %v %q", stored, got.status, got.header, got.body)
		}
		if got := s.send(t, "GET", base+"/get-media?filename=1.png", "", "", ""); got.status != s.either(404, 200) || s.quirks && strings.TrimSpace(got.body) != "" {
			t.Errorf("a file that is not there: %d %q", got.status, got.body)
		}
		s.send(t, "GET", base+"/get-media", "", "", "").expect(t, "no name", 400, "")
		s.expectNothingStored(t, "uploading what is wrong", func() {
			s.send(t, "POST", base+"/upload-media", "", "", "").expect(t, "no form", 400, "")
			s.send(t, "POST", base+"/upload-media", "", "application/x-www-form-urlencoded", "a=b").expect(t, "no form", 400, "")
			if s.quirks {
				return // published: any file is taken
			}
			for name, content := range map[string]string{"a.exe": string(picture), "a.svg": "<svg/>", "a.png": "<script>", "a": string(picture), "b.jpg": string(picture)} {
				contentType, body := uploadOf(name, []byte(content))
				s.send(t, "POST", base+"/upload-media", "", contentType, body).expect(t, name, 400, "")
			}
		})
	}
}

func testPublishedPages(t *testing.T, s *subject) {
	for _, path := range []string{"/", "/index.html", "/main.html", "/signup.html", "/profile.html", "/contact.html"} {
		if got := s.send(t, "GET", s.base+path, "", "", ""); got.status/100 != 3 {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	for path, shows := range map[string]string{"/login": "Log in", "/signup": "Sign up"} {
		if got := s.send(t, "GET", s.base+path, "", "", ""); got.status != 200 || !strings.Contains(got.body, "<h1>"+shows) {
			t.Errorf("%s: %d %.300s", path, got.status, got.body)
		}
	}
}
