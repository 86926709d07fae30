package media_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/tracing/tracetest"
)

const incomplete = "Incomplete arguments\n"

// TestConformance calls every operation of the HTTP API and the pages: of an application in this process, over each document
// store and in each profile, over PostgreSQL of services that trace all, or of the one that STONE_CONFORMANCE_URL names,
// which then has the profile STONE_CONFORMANCE_PROFILE and, if it is set, STONE_SECRET.
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
		"postgres": {"", postgres}, "mongo": {"", servertest.Mongo}, "quirks": {"dsb-quirks", postgres},
	} {
		t.Run(name, func(t *testing.T) {
			collector := tracetest.New(t)
			a := startTraced(t, map[string]string{"postgres": collector.Address}[name], c.profile, c.store)
			if name == "postgres" {
				t.Run("traces", func(t *testing.T) { testTraces(t, a, collector) })
			}
			testConformance(t, &subject{base: a.URL("frontend"), quirks: c.profile != "", secret: apptest.Secret})
		})
	}
}

func testConformance(t *testing.T, s *subject) {
	s.run = fmt.Sprintf("%d", rand.Int64N(1<<50)) // not used by any seed
	for name, test := range map[string]func(*testing.T, *subject){
		"registering": testRegistering, "registering films": testRegisteringFilms, "logging in": testLoggingIn,
		"composing": testComposing, "composing what is wrong": testOddReviews, "odd addresses": testOddAddresses,
		"describing films": testDescribingFilms, "describing actors": testDescribingActors, "describing plots": testDescribingPlots,
		"reading pages": testReadingPages, "odd pages": testOddPages, "listing films": testListingFilms,
		"browsing": testBrowsing, "accounts on pages": testAccountPages, "reviewing on pages": testReviewPages,
		"forged forms and sessions": testForgedForms,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// subject is the application under test.
type subject struct {
	base   string
	quirks bool
	secret string // empty: not known
	run    string // part of every name that this run makes
	made   int
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// name is an unused name.
func (s *subject) name(kind string) string {
	s.made++
	return fmt.Sprintf("%s-%s-%d", kind, s.run, s.made)
}

// number is an id that nothing has.
func (s *subject) number() int64 { return rand.Int64N(1 << 60) }

// form encodes parameters, each "name=value".
func form(parameters ...string) string {
	var encoded []string
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(parameter, "=")
		encoded = append(encoded, name+"="+url.QueryEscape(value))
	}
	return strings.Join(encoded, "&")
}

func (s *subject) get(t *testing.T, path string, parameters ...string) reply {
	t.Helper()
	return s.send(t, "GET", path+"?"+form(parameters...), "", "")
}

func (s *subject) post(t *testing.T, path string, parameters ...string) reply {
	t.Helper()
	return s.send(t, "POST", path, "application/x-www-form-urlencoded", form(parameters...))
}

func (s *subject) postJSON(t *testing.T, path string, value any) reply {
	t.Helper()
	text, err := json.Marshal(value)
	check(t, err)
	return s.send(t, "POST", path, "application/json", string(text))
}

// send follows no redirects.
func (s *subject) send(t *testing.T, method, path, contentType, body string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.base+path, strings.NewReader(body))
	check(t, err)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return ask(t, request)
}

func ask(t *testing.T, request *http.Request) reply {
	t.Helper()
	response, err := http.DefaultTransport.RoundTrip(request)
	check(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	check(t, err)
	return reply{response.StatusCode, response.Header, string(content)}
}

// expect compares the status and the beginning of the text; an empty text is wanted as it is.
func (got reply) expect(t *testing.T, what string, status int, text string) {
	t.Helper()
	if got.status != status || !strings.HasPrefix(got.body, text) || text == "" && status == http.StatusOK && got.body != "" {
		t.Errorf("%s: %d %.300q; want %d %q", what, got.status, got.body, status, text)
	}
}

// fails expects an error that a service found: published is 500, whatever it is.
func (s *subject) fails(t *testing.T, got reply, what string, status int, text string) {
	t.Helper()
	if s.quirks {
		status = http.StatusInternalServerError
	}
	got.expect(t, what, status, text)
}

// eachLess sends a form without each of its parameters in turn.
func (s *subject) eachLess(t *testing.T, path string, parameters ...string) {
	t.Helper()
	for i := range parameters {
		less := slices.Delete(slices.Clone(parameters), i, i+1)
		s.post(t, path, less...).expect(t, fmt.Sprint(less), 400, incomplete)
		name, _, _ := strings.Cut(parameters[i], "=")
		s.post(t, path, append(less, name+"=")...).expect(t, name+" is empty", 400, incomplete)
	}
}

// user registers someone, whose password is "password".
func (s *subject) user(t *testing.T) string {
	t.Helper()
	name := s.name("user")
	s.post(t, "/wrk2-api/user/register", "first_name=First", "last_name=Last", "username="+name, "password=password").
		expect(t, "registering", 200, "")
	return name
}

// film is a registered and described one.
type film struct{ id, title string }

func (s *subject) film(t *testing.T) film {
	t.Helper()
	made := film{s.name("id"), s.name("Film")}
	s.post(t, "/wrk2-api/movie/register", "title="+made.title, "movie_id="+made.id).expect(t, "registering", 200, "")
	actor, plot := s.number(), s.number()
	s.postJSON(t, "/wrk2-api/cast-info/write", map[string]any{
		"cast_info_id": actor, "name": "Vera Corvane", "gender": false, "intro": "Was a judge.",
	}).expect(t, "actor", 200, "")
	s.postJSON(t, "/wrk2-api/plot/write", map[string]any{"plot_id": plot, "plot": "Nothing happens."}).expect(t, "plot", 200, "")
	body := filmBody(made.id, made.title)
	body["plot_id"], body["casts"] = plot, []any{map[string]any{"cast_id": 1, "charactor": "Hilda", "cast_info_id": actor}}
	s.postJSON(t, "/wrk2-api/movie-info/write", body).expect(t, "film", 200, "7.5")
	return made
}

// filmBody is a description that is complete.
func filmBody(id, title string) map[string]any {
	return map[string]any{
		"movie_id": id, "title": title, "casts": []any{}, "plot_id": 1, "thumbnail_ids": []string{"t"}, "photo_ids": []string{},
		"video_ids": []string{"v", "w"}, "avg_rating": 7.5, "num_rating": 12,
	}
}

// page reads the page of a film.
func (s *subject) page(t *testing.T, id string, start, stop int) *idl.Page {
	t.Helper()
	got := s.get(t, "/wrk2-api/page", "movie_id="+id, fmt.Sprintf("start=%d", start), fmt.Sprintf("stop=%d", stop))
	got.expect(t, "page", 200, "{")
	page := idl.NewPage()
	got.decode(t, page)
	return page
}

func (got reply) decode(t *testing.T, into any) {
	t.Helper()
	if contentType := got.header.Get("Content-Type"); contentType != "application/json; charset=utf-8" {
		t.Errorf("content type %q", contentType)
	}
	if err := json.Unmarshal([]byte(got.body), into); err != nil {
		t.Fatalf("%v in %.300q", err, got.body)
	}
}

func review(user, title, rating, text string) []string {
	return []string{"username=" + user, "password=password", "title=" + title, "rating=" + rating, "text=" + text}
}
