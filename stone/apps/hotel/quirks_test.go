package hotel_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"

	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/rpc"
	"loadstone.dev/stone/platform/servertest"
)

func (a *app) dial(t *testing.T, name string) *grpc.ClientConn {
	t.Helper()
	connection, err := rpc.Dial([]string{a.Replica(name).Listen})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// plansOf searches around hotel 27 and returns the rate plans of five hotels and the search's ids.
func plansOf(t *testing.T, a *app) (plans []*hotelpb.RatePlan, ids []string) {
	t.Helper()
	near, err := hotelpb.NewGeoClient(a.dial(t, "geo")).Nearby(t.Context(), &hotelpb.GeoRequest{Lat: 37.9455, Lon: -122.194}, grpc.WaitForReady(true))
	if err != nil || len(near.HotelIds) != 5 || near.HotelIds[0] != "27" {
		t.Fatalf("near: %v, %v", near, err)
	}
	rates, err := hotelpb.NewRateClient(a.dial(t, "rate")).GetRates(t.Context(), &hotelpb.RatesRequest{HotelIds: near.HotelIds}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	for i, plan := range rates.RatePlans[1:] {
		if plan.RoomType.TotalRate > rates.RatePlans[i].RoomType.TotalRate {
			t.Errorf("plan %d is dearer than the one before it", i+1)
		}
	}
	found, err := hotelpb.NewSearchClient(a.dial(t, "search")).Nearby(t.Context(), &hotelpb.SearchRequest{Lat: 37.9455, Lon: -122.194}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	return rates.RatePlans, found.HotelIds
}

// testSearch: by default each hotel comes with its own plans, and once.
func testSearch(t *testing.T, a *app) {
	plans, ids := plansOf(t, a)
	if len(plans) != 1 || !slices.Equal(ids, []string{"27"}) {
		t.Errorf("%d plans, search finds %v", len(plans), ids)
	}
}

func TestQuirks(t *testing.T) {
	a := startApp(t, "dsb-quirks", servertest.Postgres)
	t.Run("every hotel has all plans", func(t *testing.T) {
		for range 2 { // store, cache
			if plans, ids := plansOf(t, a); len(plans) != 5*27 || len(ids) != 5*27 {
				t.Errorf("%d plans, search finds %d", len(plans), len(ids))
			}
		}
		if ids := a.get("/hotels", append([]string{"lat=37.9455", "lon=-122.194"}, stay...)...).ids(t); len(ids) != 27 {
			t.Errorf("/hotels shows %d hotels", len(ids))
		}
	})
	t.Run("no login succeeds", func(t *testing.T) {
		for number := range 501 {
			if got := a.get("/user", credentials(number)...); got.body != refused {
				t.Errorf("user %d: %s", number, got.body)
			}
		}
		if got := a.get("/user", "username=Cornell_37", "password="+strings.Repeat("7", 10)); got.body != loggedIn {
			t.Errorf("user 7 under the stored name: %s", got.body)
		}
	})
	t.Run("reviews ignore the login", func(t *testing.T) {
		if got := a.get("/review", append(credentials(7), "hotelId=1")...); got.body != `{"message":"Have reviews = 4"}` {
			t.Error(got.body)
		}
		if got := a.get("/cinema", append(credentials(7), "hotelId=1")...); got.body != `{"message":"Failed. No Cinemas. "}` {
			t.Error(got.body)
		}
	})
	t.Run("a booking without login takes the hotel off the search", func(t *testing.T) {
		before := a.reservations()
		if !a.offers(t, 10, 14) {
			t.Fatal("hotel 30 is not offered")
		}
		if got := a.book(30, 11, 12, 1); got.body != refused {
			t.Errorf("booking: %s", got.body)
		}
		if grown := a.reservations() - before; grown != 1 {
			t.Errorf("the store grew by %d", grown)
		}
		for day := 9; day < 14; day++ {
			if got := a.offers(t, day, day+1); got != (day != 11) {
				t.Errorf("night of the %s: offered %v", strconv.Itoa(day), got)
			}
		}
		if got := a.book(30, 11, 12, 200); got.body != full {
			t.Errorf("overbooking: %s", got.body)
		}
	})
}
