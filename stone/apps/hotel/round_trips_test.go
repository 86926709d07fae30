package hotel_test

import (
	"slices"
	"testing"

	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/tracing/tracetest"
)

// TestRoundTrips counts the requests of each operation to services and stores. Operations follow one another: what one leaves in
// the caches the next finds there.
func TestRoundTrips(t *testing.T) {
	// Five hotels are near, of which one has rate plans of its own.
	near := []string{"lat=37.9455", "lon=-122.194"}
	nights := func(from, to string) []string { return []string{"inDate=2015-04-" + from, "outDate=2015-04-" + to} }
	book := slices.Concat(nights("18", "21"), credentials(7), []string{"hotelId=30", "customerName=Bob", "number=1"})
	about := append(credentials(7), "hotelId=1")
	for _, profile := range []string{"", "dsb-quirks"} {
		t.Run("profile "+profile, func(t *testing.T) {
			collector := tracetest.New(t)
			a := startApp(t, profile, servertest.Postgres, collector.Address)
			var counted tracetest.RoundTrips
			for _, one := range []struct {
				operation, path string
				parameters      []string
			}{
				{"hotels for 2 nights, 5 near, caches empty", "/hotels", append(nights("10", "12"), near...)},
				{"hotels for 2 nights, 5 near, again", "/hotels", append(nights("10", "12"), near...)},
				{"recommendations of one hotel, caches empty", "/recommendations", []string{"require=dis", "lat=37.9875", "lon=-122.138"}},
				{"recommendations of one hotel, again", "/recommendations", []string{"require=dis", "lat=37.9875", "lon=-122.138"}},
				{"user", "/user", credentials(7)},
				{"reservation of 3 nights, caches empty", "/reservation", book},
				{"reservation of 3 nights, again", "/reservation", book},
				{"review, caches empty", "/review", about},
				{"review, again", "/review", about},
				{"restaurants", "/restaurants", about},
				{"museums", "/museums", about},
				{"cinema", "/cinema", about},
			} {
				if got := a.get(one.path, one.parameters...); got.status != 200 {
					t.Fatalf("%s: %d %s", one.operation, got.status, got.body)
				}
				counted.Add(one.operation, collector.Request(t, "GET "+one.path))
			}
			counted.Compare(t, "round-trips.json", profile)
		})
	}
}
