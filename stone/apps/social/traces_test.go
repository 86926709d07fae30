package social_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"loadstone.dev/stone/platform/tracing/tracetest"
)

// testTraces sends an application's first requests, while its caches are empty.
func testTraces(t *testing.T, a *app, collector *tracetest.Collector) {
	a.register(1)
	a.register(2)
	for _, c := range []struct {
		path  string
		form  url.Values
		calls []string
	}{
		{"/wrk2-api/user/follow", url.Values{"user_name": {"username_2"}, "followee_name": {"username_1"}}, []string{
			"frontend > social-graph",
			"social-graph > documents-social-graph", "social-graph > redis-social-graph", "social-graph > user",
			"user > documents-user", "user > memcached-user",
		}},
		{"/wrk2-api/post/compose", url.Values{
			"username": {"username_1"}, "user_id": {"1"}, "post_type": {"0"}, "media_ids": {"[7]"}, "media_types": {`["png"]`},
			"text": {"to @username_2 about http://example.org/"},
		}, []string{
			"compose-post > home-timeline", "compose-post > media", "compose-post > post-storage", "compose-post > text",
			"compose-post > unique-id", "compose-post > user", "compose-post > user-timeline",
			"frontend > compose-post",
			"home-timeline > redis-home-timeline", "home-timeline > social-graph",
			"post-storage > documents-post-storage",
			"social-graph > documents-social-graph", "social-graph > redis-social-graph",
			"text > url-shorten", "text > user-mention",
			"url-shorten > documents-url-shorten",
			"user-mention > memcached-user",
			"user-timeline > documents-user-timeline", "user-timeline > redis-user-timeline",
		}},
		{"/wrk2-api/home-timeline/read", url.Values{"user_id": {"2"}, "start": {"0"}, "stop": {"10"}}, []string{
			"frontend > home-timeline", "home-timeline > post-storage", "home-timeline > redis-home-timeline",
			"post-storage > documents-post-storage", "post-storage > memcached-post-storage",
		}},
	} {
		response, err := http.PostForm(a.URL("frontend")+c.path, c.form)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		tree := collector.Request(t, "POST "+c.path)
		if got := tree.Calls(); response.StatusCode != 200 || !slices.Equal(got, c.calls) {
			t.Errorf("%d; %q, want\n%q in\n%s", response.StatusCode, got, c.calls, tree)
		}
	}
	response, err := http.Get(a.URL("frontend") + "/get-media?filename=none.png")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	tree := collector.Request(t, "GET /get-media")
	if got := tree.Calls(); !slices.Equal(got, []string{"frontend > media-frontend", "media-frontend > documents-media-frontend"}) {
		t.Errorf("%q in\n%s", got, tree)
	}
}
