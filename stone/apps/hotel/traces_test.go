package hotel_test

import (
	"slices"
	"testing"

	"loadstone.dev/stone/platform/tracing/tracetest"
)

// testTraces sends an application's first requests, while its caches are empty.
func testTraces(t *testing.T, a *app, collector *tracetest.Collector) {
	if got := a.get("/hotels", append([]string{"lat=37.9455", "lon=-122.194"}, stay...)...); got.status != 200 {
		t.Fatal(got)
	}
	tree := collector.Request(t, "GET /hotels")
	if got, want := tree.Calls(), []string{
		"frontend > profile", "frontend > reservation", "frontend > search",
		"profile > documents-profile", "profile > memcached-profile",
		"rate > documents-rate", "rate > memcached-rate",
		"reservation > documents-reservation", "reservation > memcached-reserve",
		"search > geo", "search > rate",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want\n%q in\n%s", got, want, tree)
	}
}
