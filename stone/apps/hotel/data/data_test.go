package data_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"loadstone.dev/stone/apps/hotel/data"
)

// The expected values below are the published ones, written out rather than computed alike.

func TestHotelsStandOnThePublishedLine(t *testing.T) {
	points := data.AllPoints()
	if len(points) != 80 {
		t.Fatalf("%d hotels, want 80", len(points))
	}
	for _, want := range []data.Point{
		{HotelID: "7", Lat: 37.8255, Lon: -122.354},
		{HotelID: "40", Lat: 38.0235, Lon: -122.09},
		{HotelID: "80", Lat: 38.2635, Lon: -121.77},
	} {
		if !slices.Contains(points, want) {
			t.Errorf("no %+v", want)
		}
	}
	for i, profile := range data.AllProfiles() {
		if profile.ID != fmt.Sprint(i+1) || points[i].HotelID != profile.ID ||
			points[i].Lat != profile.Address.Lat || points[i].Lon != profile.Address.Lon {
			t.Errorf("profile %d and its point disagree: %+v %+v", i+1, profile, points[i])
		}
	}
	seventh := data.AllProfiles()[6]
	if seventh.Name != "St. Regis San Francisco" || seventh.PhoneNumber != "(415) 284-407" {
		t.Errorf("hotel 7 is %q, %q", seventh.Name, seventh.PhoneNumber)
	}
}

// Of the points that the published workload searches, 48 % have no hotel within 10 km, and a point
// has 2.6 of them on average, at most five counted (both rounded; the grid here is coarser).
func TestSearchRegionSeesThePublishedShareOfHotels(t *testing.T) {
	points, searches, empty, seen := data.AllPoints(), 0, 0, 0
	for lat := 38.0235 - 0.2405; lat <= 38.0235+0.2405; lat += 0.004 {
		for lon := -122.095 - 0.157; lon <= -122.095+0.168; lon += 0.004 {
			near := 0
			for _, point := range points {
				if kilometres(lat, lon, point.Lat, point.Lon) <= 10 {
					near++
				}
			}
			searches++
			seen += min(near, 5)
			if near == 0 {
				empty++
			}
		}
	}
	if share := float64(empty) / float64(searches); math.Abs(share-0.48) > 0.01 {
		t.Errorf("%.3f of the searches find nothing, want 0.48", share)
	}
	if mean := float64(seen) / float64(searches); math.Abs(mean-2.6) > 0.07 {
		t.Errorf("a search finds %.2f hotels, want 2.6", mean)
	}
	for _, point := range points[:6] {
		if kilometres(37.78, -122.41, point.Lat, point.Lon) > 2 {
			t.Errorf("hotel %s is far from the centre of San Francisco", point.HotelID)
		}
	}
}

// kilometres is the great-circle distance by the haversine formula.
func kilometres(lat1, lon1, lat2, lon2 float64) float64 {
	radians := math.Pi / 180
	a := math.Pow(math.Sin((lat2-lat1)*radians/2), 2) +
		math.Cos(lat1*radians)*math.Cos(lat2*radians)*math.Pow(math.Sin((lon2-lon1)*radians/2), 2)
	return 2 * 6371 * math.Asin(math.Sqrt(a))
}

func TestRatePlans(t *testing.T) {
	plans := data.AllRatePlans()
	if len(plans) != 27 {
		t.Errorf("%d rate plans, want 27", len(plans))
	}
	type row struct {
		until            string
		rate, withTaxes  float64
		code, from, coin string
	}
	got := map[string]row{}
	for _, plan := range plans {
		got[plan.HotelID] = row{plan.OutDate, plan.RoomType.TotalRate, plan.RoomType.TotalRateInclusive,
			plan.Code, plan.InDate, plan.RoomType.Currency}
	}
	for id, want := range map[string]row{
		"1":  {"2015-04-24", 109, 123.17, "RACK", "2015-04-09", "USD"},
		"9":  {"2015-04-24", 232, 258, "RACK", "2015-04-09", "USD"},
		"12": {"2015-04-17", 124, 144, "RACK", "2015-04-09", "USD"},
		"15": {"2015-04-24", 109, 123.17, "RACK", "2015-04-09", "USD"},
		"18": {"2015-04-17", 132, 158, "RACK", "2015-04-09", "USD"},
		"21": {"2015-04-24", 120, 140, "RACK", "2015-04-09", "USD"},
		"78": {"2015-04-17", 132, 158, "RACK", "2015-04-09", "USD"},
	} {
		if got[id] != want {
			t.Errorf("plan of hotel %s is %+v, want %+v", id, got[id], want)
		}
	}
	if got["2"].rate != 139 || got["3"].rate != 109 {
		t.Errorf("hotels 2 and 3 cost %v and %v, want 139 and 109", got["2"].rate, got["3"].rate)
	}
	for _, id := range []string{"4", "5", "6", "7", "80"} {
		if _, has := got[id]; has {
			t.Errorf("hotel %s has a rate plan", id)
		}
	}
}

func TestRecommendationsHaveThePublishedWinners(t *testing.T) {
	best, cheapest := []string{}, []string{}
	highest, lowest := 0.0, math.Inf(1)
	for _, one := range data.AllRecommendations() {
		highest, lowest = max(highest, one.Rate), min(lowest, one.Price)
	}
	for _, one := range data.AllRecommendations() {
		if one.Rate == highest {
			best = append(best, one.HotelID)
		}
		if one.Price == lowest {
			cheapest = append(cheapest, one.HotelID)
		}
	}
	if fmt.Sprint(best) != "[9 24 39 54 69]" || fmt.Sprint(cheapest) != "[2]" {
		t.Errorf("highest rate %v, lowest price %v; want 9 24 39 54 69 and 2", best, cheapest)
	}
	if other := data.AllRecommendations()[6]; other.Rate != 135 || other.Price != 179 {
		t.Errorf("hotel 7: %+v, want 135 and 179", other)
	}
}

func TestRoomsAndReservation(t *testing.T) {
	counts := data.AllRoomCounts()
	for id, want := range map[int]int{1: 200, 6: 200, 7: 300, 8: 250, 9: 200, 79: 300, 80: 250} {
		if got := counts[id-1]; got.NumberOfRoom != want || got.HotelID != fmt.Sprint(id) {
			t.Errorf("hotel %d: %+v, want %d rooms", id, got, want)
		}
	}
	want := []data.Reservation{{HotelID: "4", CustomerName: "Alice", InDate: "2015-04-09", OutDate: "2015-04-10", Number: 1}}
	if got := data.AllReservations(); !slices.Equal(got, want) {
		t.Errorf("reservations %+v", got)
	}
}

func TestUsers(t *testing.T) {
	users, quirky := data.AllUsers(false), data.AllUsers(true)
	if len(users) != 501 || len(quirky) != 501 {
		t.Fatalf("%d and %d users, want 501", len(users), len(quirky))
	}
	if users[1].Username != "Cornell_1" || quirky[1].Username != "Cornell_31" || quirky[500].Username != "Cornell_353030" {
		t.Errorf("names %s, %s, %s", users[1].Username, quirky[1].Username, quirky[500].Username)
	}
	// printf 500500500500500500500500500500 | sha256sum
	const want = "0d024162fd88407ae7a6b31061b4d82b9611bc76bde27a2b59c6e0c57d9a8f82"
	if users[500].Password != want || quirky[500].Password != want {
		t.Errorf("password of user 500 is %s", users[500].Password)
	}
}

func TestReviewsAndAttractions(t *testing.T) {
	of := map[string]int{}
	for _, review := range data.AllReviews() {
		of[review.HotelID]++
	}
	if len(of) != 2 || of["1"] != 4 || of["2"] != 2 {
		t.Errorf("reviews of hotels: %v, want 4 of 1 and 2 of 2", of)
	}
	counts := []int{len(data.AllHotelPoints()), len(data.AllRestaurants()), len(data.AllMuseums()),
		len(data.AllCinemas(false)), len(data.AllCinemas(true))}
	if fmt.Sprint(counts) != "[6 6 6 6 0]" {
		t.Errorf("hotels, restaurants, museums, cinemas and those with quirks: %v", counts)
	}
}
