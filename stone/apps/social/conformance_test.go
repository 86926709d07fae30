package social_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/tracing/tracetest"
)

// TestConformance calls every operation of the HTTP API: of an application in this process, over each document store and in
// each profile, over PostgreSQL of services that trace all, or of the one that STONE_CONFORMANCE_URL names, which then has
// the profile STONE_CONFORMANCE_PROFILE and, if it is set, STONE_SECRET.
func TestConformance(t *testing.T) {
	if base := os.Getenv("STONE_CONFORMANCE_URL"); base != "" {
		quirks := os.Getenv("STONE_CONFORMANCE_PROFILE") == "dsb-quirks"
		testConformance(t, &subject{base: strings.TrimRight(base, "/"), quirks: quirks, secret: os.Getenv("STONE_SECRET")})
		return
	}
	for name, c := range map[string]struct {
		profile string
		store   func(testing.TB) string
	}{
		"postgres": {"", servertest.Postgres}, "mongo": {"", servertest.Mongo}, "quirks": {"dsb-quirks", servertest.Postgres},
	} {
		t.Run(name, func(t *testing.T) {
			collector := tracetest.New(t)
			a := startTraced(t, map[string]string{"postgres": collector.Address}[name], c.profile, c.store)
			if name == "postgres" {
				t.Run("traces", func(t *testing.T) { testTraces(t, a, collector) })
			}
			testConformance(t, &subject{
				base: a.URL("frontend"), media: a.URL("media-frontend"), quirks: c.profile != "", secret: apptest.Secret, store: a.Store(),
			})
		})
	}
}

func testConformance(t *testing.T, s *subject) {
	s.next = 1<<40 + rand.Int64N(1<<50) // not used by any seed
	for name, test := range map[string]func(*testing.T, *subject){
		"registering": testRegistering, "following": testFollowing, "posting": testPosting, "reading": testReading,
		"what a post cannot be": testOddPosts, "bodies": testBodies, "logging in": testLoggingIn, "sessions": testSessions,
		"acting as oneself": testActingAsOneself, "media": testMediaFiles, "no followers": testPostingWithoutFollowers,
		"pages": testPublishedPages,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// subject is the application under test.
type subject struct {
	base   string
	media  string // the media front end's own address, if it can be reached
	quirks bool
	secret string          // empty: not known
	store  documents.Store // nil: not to be reached
	next   int64           // the next user's id
}

// person is a registered user.
type person struct {
	id   int64
	name string
}

func (p person) String() string   { return fmt.Sprint(p.id) }
func (p person) password() string { return "password_" + fmt.Sprint(p.id) }

// reply is a response.
type reply struct {
	status int
	header http.Header
	body   string
}

// form encodes parameters, each "name=value".
func form(parameters ...string) string {
	var encoded []string
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(parameter, "=")
		encoded = append(encoded, name+"="+url.QueryEscape(value))
	}
	return strings.Join(encoded, "&")
}

func (s *subject) get(t *testing.T, path, cookie string, parameters ...string) reply {
	t.Helper()
	return s.send(t, "GET", s.base+path+"?"+form(parameters...), cookie, "", "")
}

func (s *subject) post(t *testing.T, path, cookie string, parameters ...string) reply {
	t.Helper()
	return s.send(t, "POST", s.base+path, cookie, "application/x-www-form-urlencoded", form(parameters...))
}

// send does not follow redirects.
func (s *subject) send(t *testing.T, method, address, cookie, contentType, body string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if cookie != "" {
		request.AddCookie(&http.Cookie{Name: "login_token", Value: cookie})
	}
	response, err := http.DefaultTransport.RoundTrip(request)
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

// expect compares status and text; the text may be just the beginning.
func (got reply) expect(t *testing.T, what string, status int, text string) {
	t.Helper()
	if got.status != status || !strings.HasPrefix(got.body, text) {
		t.Errorf("%s: %d %.300q; want %d %q", what, got.status, got.body, status, text)
	}
}

// either is a status of the default profile or the published one.
func (s *subject) either(status, published int) int {
	if s.quirks {
		return published
	}
	return status
}

// register makes new people.
func (s *subject) register(t *testing.T, count int) []person {
	t.Helper()
	people := make([]person, count)
	for i := range people {
		people[i] = person{s.next, fmt.Sprintf("user_%d", s.next)}
		s.next++
		s.post(t, "/wrk2-api/user/register", "", "first_name=F", "last_name=L", "username="+people[i].name,
			"password="+people[i].password(), "user_id="+people[i].String()).expect(t, "register", 200, "Success!\n")
	}
	return people
}

func (s *subject) follow(t *testing.T, who, followee person) {
	t.Helper()
	s.post(t, "/wrk2-api/user/follow", "", "user_id="+who.String(), "followee_id="+followee.String()).expect(t, "follow", 200, "Success!")
}

func (s *subject) compose(t *testing.T, who person, text string, parameters ...string) reply {
	t.Helper()
	return s.post(t, "/wrk2-api/post/compose", "", append([]string{"username=" + who.name, "user_id=" + who.String(), "text=" + text, "post_type=0"}, parameters...)...)
}

// logIn returns the cookie.
func (s *subject) logIn(t *testing.T, who person) string {
	t.Helper()
	got := s.post(t, "/api/user/login", "", "username="+who.name, "password="+who.password())
	got.expect(t, "login", 302, "")
	cookie, _, _ := strings.Cut(strings.TrimPrefix(got.header.Get("Set-Cookie"), "login_token="), ";")
	if cookie == "" {
		t.Fatalf("login set no cookie: %v", got.header)
	}
	return cookie
}

// decode reads JSON with numbers as they are written.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%v in %.300q", err, text)
	}
}

// list reads an array; an empty one must be written as the profile says.
func (s *subject) list(t *testing.T, got reply) []any {
	t.Helper()
	got.expect(t, "list", 200, "")
	if contentType := got.header.Get("Content-Type"); contentType != "application/json; charset=utf-8" {
		t.Errorf("content type %q", contentType)
	}
	var value any
	decode(t, got.body, &value)
	return s.array(t, value)
}

func (s *subject) array(t *testing.T, value any) []any {
	t.Helper()
	switch value := value.(type) {
	case []any:
		if len(value) == 0 == s.quirks && len(value) == 0 {
			t.Error("an empty array is written [], published is {}")
		}
		return value
	case map[string]any:
		if len(value) == 0 && s.quirks {
			return nil
		}
	}
	t.Errorf("%v is no array", value)
	return nil
}

// id is how an id is written.
func (s *subject) id(number any) any {
	if s.quirks {
		return fmt.Sprint(number)
	}
	return json.Number(fmt.Sprint(number))
}

// timeline reads a timeline ("home" or "user") as a load generator does.
func (s *subject) timeline(t *testing.T, kind string, of person, start, stop int) []map[string]any {
	t.Helper()
	got := s.get(t, "/wrk2-api/"+kind+"-timeline/read", "", "user_id="+of.String(), fmt.Sprintf("start=%d", start), fmt.Sprintf("stop=%d", stop))
	var posts []map[string]any
	for _, one := range s.list(t, got) {
		posts = append(posts, one.(map[string]any))
	}
	return posts
}

// stored counts what the stores hold, by kind; nil if they cannot be reached.
func (s *subject) stored(t *testing.T) map[string]int {
	t.Helper()
	if s.store == nil {
		return nil
	}
	counts := make(map[string]int)
	for _, at := range []documents.Location{data.Users, data.Graph, data.UserTimelines, data.Posts, data.URLs, data.Media} {
		count, err := at.In(s.store).Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		counts[at.Service] = count
	}
	return counts
}

// expectNothingStored fails if something was stored by an act.
func (s *subject) expectNothingStored(t *testing.T, what string, act func()) {
	t.Helper()
	before := fmt.Sprint(s.stored(t))
	act()
	if after := fmt.Sprint(s.stored(t)); after != before {
		t.Errorf("%s: stored %s, before %s", what, after, before)
	}
}

// picture is a PNG of one pixel.
var picture = func() []byte {
	return bytes.Join([][]byte{[]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{0}, 64)}, nil)
}()
