package media_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/tracing/tracetest"
)

// TestRoundTrips counts the requests of each operation to services and stores. Operations follow one another: what one leaves in
// the caches the next finds there.
func TestRoundTrips(t *testing.T) {
	const json = "application/json"
	form := func(pairs ...string) string {
		values := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		return values.Encode()
	}
	review := form("username", "ann", "password", "p", "title", "T", "rating", "7", "text", "words")
	logIn := form("username", "ann", "password", "p")
	for _, profile := range []string{"", "dsb-quirks"} {
		t.Run("profile "+profile, func(t *testing.T) {
			collector := tracetest.New(t)
			a := startTraced(t, collector.Address, profile, postgres)
			var counted tracetest.RoundTrips
			for _, one := range []struct{ operation, method, path, body string }{
				{"register a user", "POST", "user/register", form("first_name", "F", "last_name", "L", "username", "ann", "password", "p")},
				{"register a film", "POST", "movie/register", form("title", "T", "movie_id", "m")},
				{"log in, cache empty", "POST", "user/login", logIn},
				{"log in, again", "POST", "user/login", logIn},
				{"write a film", "POST", "movie-info/write", `{"movie_id":"m","title":"T","casts":[{"cast_id":1,"character":"c","cast_info_id":5}],` +
					`"plot_id":3,"thumbnail_ids":[],"photo_ids":[],"video_ids":[],"avg_rating":5,"num_rating":1}`},
				{"write an actor", "POST", "cast-info/write", `{"cast_info_id":5,"name":"N","gender":true,"intro":"i"}`},
				{"write a plot", "POST", "plot/write", `{"plot_id":3,"plot":"words"}`},
				{"compose a film's and a user's first review, film not cached", "POST", "review/compose", review},
				{"read a page with one review of 10, caches empty", "GET", "page", form("movie_id", "m", "start", "0", "stop", "10")},
				{"read a page with one review of 10, again", "GET", "page", form("movie_id", "m", "start", "0", "stop", "10")},
				{"compose another review", "POST", "review/compose", review},
			} {
				address := a.URL("frontend") + "/wrk2-api/" + one.path
				body, kind := one.body, "application/x-www-form-urlencoded"
				if one.method == "GET" {
					address, body = address+"?"+body, ""
				}
				if strings.HasPrefix(body, "{") {
					kind = json
				}
				request, err := http.NewRequestWithContext(t.Context(), one.method, address, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Content-Type", kind)
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if response.StatusCode != 200 {
					t.Fatalf("%s: status %d", one.operation, response.StatusCode)
				}
				counted.Add(one.operation, collector.Request(t, one.method+" /wrk2-api/"+one.path))
			}
			counted.Compare(t, "round-trips.json", profile)
		})
	}
}
