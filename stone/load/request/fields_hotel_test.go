package request

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// hotelMix makes requests of the published Hotel Reservation mix, as the workload file says it: that the testdata
// are those of the file is tested where the file is read.
func hotelMix(t *testing.T) (all []*Compiled, next func(n uint64) (operation string, path *url.URL)) {
	t.Helper()
	operations, err := os.ReadFile("testdata/hotel-mixed.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, all, err = planOf(fmt.Sprintf(`{"operations":%s}`, operations)); err != nil {
		t.Fatal(err)
	}
	m, names := NewMix(all, 3), map[int32]string{}
	for _, o := range all {
		names[o.First] = o.name
	}
	return all, func(n uint64) (string, *url.URL) {
		text, kind := firstOf(m, n)
		line := strings.Fields(string(text[:strings.IndexByte(string(text), '\r')]))
		path, err := url.Parse(line[1])
		if reads := names[kind] == "hotels" || names[kind] == "recommendations"; err != nil || reads != (line[0] == "GET") || !reads && line[0] != "POST" {
			t.Fatalf("%q: %v", text, err)
		}
		return names[kind], path
	}
}

func TestTheHotelMixHasThePublishedShares(t *testing.T) {
	_, next := hotelMix(t)
	counts, rooms := map[string]int{}, map[string]int{}
	for n := range uint64(200000) {
		name, path := next(n)
		counts[name+path.Path]++
		query := path.Query()
		if user := query.Get("username"); user != "" {
			if id := strings.TrimPrefix(user, "Cornell_"); query.Get("password") != strings.Repeat(id, 10) {
				t.Fatalf("%s: not the password of %s", path, user)
			}
		}
		if name == "reservations" {
			rooms[query.Get("number")+query.Get("lat")+query.Get("lon")+strings.TrimPrefix(query.Get("customerName"), query.Get("username"))]++
		}
	}
	fits(t, counts, map[string]float64{"hotels/hotels": 0.6, "recommendations/recommendations": 0.39, "login/user": 0.005, "reservations/reservation": 0.005})
	if len(rooms) != 1 || rooms["1nilnil"] == 0 {
		t.Errorf("rooms, place and customer: %v", rooms)
	}
}

// Each field is uniform over exactly its published values, or has its published weights.
func TestTheHotelMixHasThePublishedRanges(t *testing.T) {
	all, _ := hotelMix(t)
	fields := map[string]*fieldSet{}
	for _, o := range all {
		fields[o.name] = o.Steps[0].fields
	}
	thousandths := func(from, to int) (values []string) {
		for i := from; i <= to; i++ {
			values = append(values, fmt.Sprintf("%.3f", float64(i)/1000))
		}
		return values
	}
	searched, booked := map[string]float64{}, map[string]float64{}
	for day := 9; day <= 23; day++ {
		in := time.Date(2015, 4, day, 0, 0, 0, 0, time.UTC)
		pair := func(stay int) string {
			return in.Format(time.DateOnly) + in.AddDate(0, 0, stay).Format(time.DateOnly)
		}
		for stay := 1; day+stay <= 24; stay++ {
			searched[pair(stay)] = 1.0 / 15 / float64(24-day)
		}
		for stay := 1; stay <= 5; stay++ {
			booked[pair(stay)] = 1.0 / 75
		}
	}
	for _, c := range []struct {
		operation   string
		fields      []string
		probability map[string]float64
	}{
		{"hotels", []string{"lat"}, evenly(thousandths(37783, 38264))},
		{"hotels", []string{"lon"}, evenly(thousandths(-122252, -121927))},
		{"hotels", []string{"inDate", "outDate"}, searched},
		{"recommendations", []string{"lat"}, evenly(thousandths(37783, 38264))},
		{"recommendations", []string{"lon"}, evenly(thousandths(-122252, -121927))},
		{"recommendations", []string{"require"}, map[string]float64{"dis": 0.33, "rate": 0.33, "price": 0.34}},
		{"login", []string{"user"}, evenly(numbers(0, 500))},
		{"reservations", []string{"user"}, evenly(numbers(0, 500))},
		{"reservations", []string{"hotel"}, evenly(numbers(1, 80))},
		{"reservations", []string{"inDate", "outDate"}, booked},
	} {
		t.Run(c.operation+" "+strings.Join(c.fields, " "), func(t *testing.T) {
			d := drawing(fields[c.operation])
			counts := d.counts(60000, func() string {
				value := ""
				for _, name := range c.fields {
					value += d.text(name)
				}
				return value
			})
			if len(counts) != len(c.probability) {
				t.Errorf("%d values, want %d", len(counts), len(c.probability))
			}
			fits(t, counts, c.probability)
		})
	}
}
