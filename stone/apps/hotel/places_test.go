package hotel

import (
	"math"
	"slices"
	"testing"

	"loadstone.dev/stone/apps/hotel/data"
)

func allPlaces() (all places) {
	for _, point := range data.AllPoints() {
		all = append(all, newPlace(point.HotelID, point.Lat, point.Lon))
	}
	return all
}

// kilometres is the haversine formula, the other way to the same distance.
func kilometres(lat1, lon1, lat2, lon2 float64) float64 {
	const degree = math.Pi / 180
	h := math.Pow(math.Sin((lat2-lat1)*degree/2), 2) +
		math.Cos(lat1*degree)*math.Cos(lat2*degree)*math.Pow(math.Sin((lon2-lon1)*degree/2), 2)
	return 2 * earthRadiusKm * math.Asin(math.Sqrt(h))
}

func TestNearbyAgreesWithHaversineAndThePublishedShare(t *testing.T) {
	hotels, points := allPlaces(), data.AllPoints()
	cells, empty, found := 0, 0, 0
	for lat := 37.783; lat <= 38.264; lat += 0.007 { // the region that the workload searches
		for lon := -122.252; lon <= -121.927; lon += 0.007 {
			var distances []float64
			for _, point := range points {
				if km := kilometres(lat, lon, point.Lat, point.Lon); km <= nearbyKm {
					distances = append(distances, km)
				}
			}
			slices.Sort(distances)
			distances = distances[:min(len(distances), nearbyLimit)]
			ids := hotels.nearby(unitVector(lat, lon))
			if len(ids) != len(distances) {
				t.Fatalf("at %g,%g: %d hotels, haversine finds %d", lat, lon, len(ids), len(distances))
			}
			for i, id := range ids {
				at := points[slices.IndexFunc(points, func(p data.Point) bool { return p.HotelID == id })]
				if km := kilometres(lat, lon, at.Lat, at.Lon); math.Abs(km-distances[i]) > 1e-6 {
					t.Fatalf("at %g,%g: hotel %s is %g km away, the %dth nearest %g", lat, lon, id, km, i, distances[i])
				}
			}
			cells, found = cells+1, found+len(ids)
			if len(ids) == 0 {
				empty++
			}
		}
	}
	if share := float64(empty) / float64(cells); math.Abs(share-0.48) > 0.02 {
		t.Errorf("%.3f of the region has no hotel nearby, published 0.48", share)
	}
	if mean := float64(found) / float64(cells); math.Abs(mean-2.6) > 0.2 {
		t.Errorf("%.2f hotels nearby on average, published 2.6", mean)
	}
}

func TestNearestKeepsTies(t *testing.T) {
	all := places{newPlace("a", 38, -122), newPlace("b", 38, -122), newPlace("c", 0, 0)}
	if got := all.nearest(unitVector(38.1, -122)); !slices.Equal(got, []string{"a", "b"}) {
		t.Error(got)
	}
	if got := (places{}).nearest(unitVector(0, 0)); got != nil {
		t.Error(got)
	}
}

func TestNightsOfAStay(t *testing.T) {
	got, err := nights("2016-02-28", "2016-03-01")
	want := []night{{"2016-02-28", "2016-02-29"}, {"2016-02-29", "2016-03-01"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := nights("2015-01-01", "2016-01-02"); err != nil || len(got) != data.MaxNights {
		t.Errorf("%d nights, %v", len(got), err)
	}
	for _, stay := range [][2]string{{"2015-01-01", "2016-01-03"}, {"2015-01-02", "2015-01-01"}, {"", ""}, {"2015-1-1", "2015-01-02"}} {
		if got, err := nights(stay[0], stay[1]); err == nil {
			t.Errorf("%v: %d nights", stay, len(got))
		}
	}
}
