package media_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"loadstone.dev/stone/platform/tracing/tracetest"
)

// testTraces sends an application's first requests, while its caches are empty.
func testTraces(t *testing.T, a *app, collector *tracetest.Collector) {
	a.register(t, 1)
	response, err := http.PostForm(a.URL("frontend")+"/wrk2-api/review/compose", url.Values{
		"username": {"username_0"}, "password": {"password_0"}, "title": {"title 0"}, "rating": {"7"}, "text": {"words"},
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	tree := collector.Request(t, "POST /wrk2-api/review/compose")
	if got, want := tree.Calls(), []string{
		"compose-review > memcached-compose-review", "compose-review > movie-review", "compose-review > review-storage",
		"compose-review > user-review",
		"frontend > movie-id", "frontend > text", "frontend > unique-id", "frontend > user",
		"movie-id > compose-review", "movie-id > documents-movie-id", "movie-id > memcached-movie-id", "movie-id > rating",
		"movie-review > documents-movie-review", "movie-review > redis-movie-review",
		"rating > compose-review", "rating > redis-rating",
		"review-storage > documents-review-storage",
		"text > compose-review", "unique-id > compose-review",
		"user > compose-review", "user > documents-user", "user > memcached-user",
		"user-review > documents-user-review", "user-review > redis-user-review",
	}; response.StatusCode != 200 || !slices.Equal(got, want) {
		t.Errorf("%d; %q, want\n%q in\n%s", response.StatusCode, got, want, tree)
	}
}
