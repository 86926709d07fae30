package social_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/tracing/tracetest"
)

// TestRoundTrips counts the requests of each operation to services and stores. Operations follow one another: what one leaves in
// the caches the next finds there.
func TestRoundTrips(t *testing.T) {
	user := func(id int) url.Values {
		number := fmt.Sprint(id)
		return url.Values{"first_name": {"F"}, "last_name": {"L"}, "username": {"username_" + number}, "password": {"p"}, "user_id": {number}}
	}
	follow := func(follower, followee int) url.Values {
		return url.Values{"user_name": {fmt.Sprintf("username_%d", follower)}, "followee_name": {fmt.Sprintf("username_%d", followee)}}
	}
	byID := url.Values{"user_id": {"3"}, "followee_id": {"1"}}
	logIn := url.Values{"username": {"username_1"}, "password": {"p"}}
	post := url.Values{
		"username": {"username_1"}, "user_id": {"1"}, "post_type": {"0"}, "media_ids": {"[7]"}, "media_types": {`["png"]`},
		"text": {"to @username_4 about http://example.org/"},
	}
	window := func(user string) url.Values { return url.Values{"user_id": {user}, "start": {"0"}, "stop": {"10"}} }
	for _, profile := range []string{"", "dsb-quirks"} {
		t.Run("profile "+profile, func(t *testing.T) {
			collector := tracetest.New(t)
			a := startTraced(t, collector.Address, profile, servertest.Postgres)
			jar, _ := cookiejar.New(nil) // fails of options only
			client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			var counted tracetest.RoundTrips
			done := func(operation, root string, response *http.Response, err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if response.StatusCode >= 400 {
					t.Fatalf("%s: status %d", operation, response.StatusCode)
				}
				tree := collector.Request(t, root)
				if operation != "" {
					counted.Add(operation, tree)
				}
			}
			write := func(operation, path string, form url.Values) {
				t.Helper()
				response, err := client.PostForm(a.URL("frontend")+path, form)
				done(operation, "POST "+path, response, err)
			}
			read := func(operation, path string, query url.Values) {
				t.Helper()
				response, err := client.Get(a.URL("frontend") + path + "?" + query.Encode())
				done(operation, "GET "+path, response, err)
			}
			write("register", "/wrk2-api/user/register", user(1))
			for id := 2; id <= 4; id++ {
				write("", "/wrk2-api/user/register", user(id))
			}
			write("log in, cache empty", "/api/user/login", logIn)
			write("log in, again", "/api/user/login", logIn)
			write("follow by name, cache empty", "/wrk2-api/user/follow", follow(2, 1))
			write("", "/wrk2-api/user/follow", follow(3, 1))
			write("unfollow by name, again", "/wrk2-api/user/unfollow", follow(3, 1))
			write("follow by id", "/wrk2-api/user/follow", byID)
			write("compose with a mention, a URL and a picture, 2 followers, caches empty", "/wrk2-api/post/compose", post)
			write("compose with a mention, a URL and a picture, 2 followers, again", "/wrk2-api/post/compose", post)
			read("read a home timeline of 2 posts, cache empty", "/wrk2-api/home-timeline/read", window("2"))
			read("read a home timeline of 2 posts, again", "/wrk2-api/home-timeline/read", window("2"))
			read("read a user timeline of 2 posts of 10, first", "/wrk2-api/user-timeline/read", window("1"))
			read("read a user timeline of 2 posts of 10, again", "/wrk2-api/user-timeline/read", window("1"))
			read("read the timeline of a user without posts, first", "/wrk2-api/user-timeline/read", window("2"))
			read("read the timeline of a user without posts, again", "/wrk2-api/user-timeline/read", window("2"))
			read("get followers", "/api/user/get_follower", nil)

			var body bytes.Buffer
			form := multipart.NewWriter(&body)
			part, err := form.CreateFormFile("file", "a.png")
			if err == nil {
				_, err = part.Write(pictures(t)["png"])
			}
			if err != nil || form.Close() != nil {
				t.Fatal(err)
			}
			response, err := client.Post(a.URL("media-frontend")+"/upload-media", form.FormDataContentType(), &body)
			var answer strings.Builder
			if err == nil {
				_ = response.Write(&answer)
			}
			done("upload a picture", "POST /upload-media", response, err)
			_, id, _ := strings.Cut(answer.String(), `"media_id":"`)
			id, _, _ = strings.Cut(id, `"`)
			response, err = client.Get(a.URL("media-frontend") + "/get-media?filename=" + id + ".png")
			done("get a picture", "GET /get-media", response, err)
			counted.Compare(t, "round-trips.json", profile)
		})
	}
}
