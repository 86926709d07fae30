package hotel_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/tracing/tracetest"
)

type features struct {
	Type     string
	Features []struct {
		Type, ID   string
		Properties map[string]string
		Geometry   struct {
			Type        string
			Coordinates []float64
		}
	}
}

func (a answer) ids(t *testing.T) []string {
	t.Helper()
	var collection features
	if err := json.Unmarshal([]byte(a.body), &collection); err != nil || a.status != http.StatusOK || collection.Type != "FeatureCollection" {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	ids := []string{}
	for _, feature := range collection.Features {
		ids = append(ids, feature.ID)
	}
	return ids
}

const (
	loggedIn = `{"message":"Login successfully!"}`
	refused  = `{"message":"Failed. Please check your username and password. "}`
	booked   = `{"message":"Reserve successfully!"}`
	full     = `{"message":"Failed. Already reserved. "}`

	needDates       = "Please specify inDate/outDate params"
	needFormat      = "Please check inDate/outDate format (YYYY-MM-DD)"
	needOrder       = "Please check inDate/outDate: outDate must be 1 to 366 days after inDate"
	needLocation    = "Please specify location params"
	needRequire     = "Please specify require params"
	needCredentials = "Please specify username and password"
	needHotel       = "Please specify hotelId params"
	needCustomer    = "Please specify customerName params"
)

// TestConformance calls every operation of the API once, over each document store; over PostgreSQL of services that trace all.
func TestConformance(t *testing.T) {
	for name, store := range map[string]func(testing.TB) string{"postgres": servertest.Postgres, "mongodb": servertest.Mongo} {
		t.Run(name, func(t *testing.T) {
			var a *app
			if name == "postgres" {
				collector := tracetest.New(t)
				a = startApp(t, "", store, collector.Address)
				t.Run("traces", func(t *testing.T) { testTraces(t, a, collector) })
			} else {
				a = startApp(t, "", store)
			}
			t.Run("hotels", func(t *testing.T) { testHotels(t, a) })
			t.Run("search", func(t *testing.T) { testSearch(t, a) })
			t.Run("recommendations", func(t *testing.T) { testRecommendations(t, a) })
			t.Run("messages", func(t *testing.T) { testMessages(t, a) })
			t.Run("bad input", func(t *testing.T) { testBadInput(t, a) })
			t.Run("page", func(t *testing.T) {
				if page := a.get("/"); page.status != 200 || !strings.Contains(page.body, "Hotel Reservation") {
					t.Errorf("%d %s", page.status, page.body)
				}
				if page := a.get("/nowhere"); page.status != http.StatusNotFound {
					t.Errorf("/nowhere: %d", page.status)
				}
			})
		})
	}
}

var stay = []string{"inDate=2015-04-10", "outDate=2015-04-12"}

func testHotels(t *testing.T, a *app) {
	// Hotel 27 and its neighbours: 25 to 29 are the five nearest, of which only 27 has a rate.
	at := append([]string{"lat=37.9455", "lon=-122.194"}, stay...)
	for range 2 { // from the stores, then from the caches
		got := a.get("/hotels", at...)
		want := `{"type":"FeatureCollection","features":[{"type":"Feature","id":"27",` +
			`"properties":{"name":"St. Regis San Francisco","phone_number":"(415) 284-4027"},` +
			`"geometry":{"type":"Point","coordinates":[-122.194,37.9455]}}]}`
		if got.status != 200 || got.body != want {
			t.Errorf("got %d %s\nwant %s", got.status, got.body, want)
		}
		if got.header.Get("Access-Control-Allow-Origin") != "*" || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", got.header)
		}
	}
	// Hotels 1 to 3 are near, dearest first: 2 costs 139, 1 and 3 cost 109.
	ids := a.get("/hotels", append([]string{"lat=37.7854", "lon=-122.4005", "locale=de"}, stay...)...).ids(t)
	if len(ids) != 3 || ids[0] != "2" {
		t.Errorf("in San Francisco: %v", ids)
	}
	// At sea there is none, and the list is empty rather than null.
	if got := a.get("/hotels", append([]string{"lat=38.2", "lon=-122.2"}, stay...)...); got.body != `{"type":"FeatureCollection","features":[]}` {
		t.Errorf("nowhere near: %s", got.body)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut} {
		if got := a.ask(method, "/hotels", at...); got.status != 200 {
			t.Errorf("%s: %d", method, got.status)
		}
	}
}

func testRecommendations(t *testing.T, a *app) {
	for _, one := range []struct {
		require string
		want    []string
	}{
		{"rate", []string{"9", "24", "39", "54", "69"}},
		{"price", []string{"2"}},
		{"dis", []string{"40"}},
	} {
		for range 2 {
			ids := a.get("/recommendations", "require="+one.require, "lat=38.0235", "lon=-122.09").ids(t)
			slices.SortFunc(ids, func(x, y string) int { return len(x)*1000 - len(y)*1000 + strings.Compare(x, y) })
			if !slices.Equal(ids, one.want) {
				t.Errorf("%s: %v, want %v", one.require, ids, one.want)
			}
		}
	}
}

func testMessages(t *testing.T, a *app) {
	good, wrong := credentials(7), []string{"username=Cornell_7", "password=7"}
	unknown := []string{"username=Cornell_501", "password=" + strings.Repeat("501", 10)}
	book := append([]string{"customerName=Bo Ø", "hotelId=80"}, stay...)
	for _, one := range []struct {
		path       string
		parameters []string
		want       string
	}{
		{"/user", good, loggedIn},
		{"/user", credentials(0), loggedIn},
		{"/user", credentials(500), loggedIn},
		{"/user", wrong, refused},
		{"/user", unknown, refused},
		{"/user", []string{"username=' OR 1=1 --", "password=$ne"}, refused},
		{"/review", append([]string{"hotelId=1"}, good...), `{"message":"Have reviews = 4"}`},
		{"/review", append([]string{"hotelId=1"}, good...), `{"message":"Have reviews = 4"}`},
		{"/review", append([]string{"hotelId=2"}, good...), `{"message":"Have reviews = 2"}`},
		{"/review", append([]string{"hotelId=3"}, good...), `{"message":"Failed. No Reviews. "}`},
		{"/review", append([]string{"hotelId=999"}, good...), `{"message":"Failed. No Reviews. "}`},
		{"/review", append([]string{"hotelId=1"}, wrong...), refused},
		{"/restaurants", append([]string{"hotelId=1"}, good...), `{"message":"Have restaurants = 5"}`},
		{"/restaurants", append([]string{"hotelId=999"}, good...), `{"message":"Failed. No Restaurants. "}`},
		{"/museums", append([]string{"hotelId=6"}, good...), `{"message":"Have museums = 5"}`},
		{"/museums", append([]string{"hotelId=7"}, good...), `{"message":"Failed. No Museums. "}`},
		{"/cinema", append([]string{"hotelId=1"}, good...), `{"message":"Have cinemas = 5"}`},
		{"/cinema", append([]string{"hotelId=x"}, good...), `{"message":"Failed. No Cinemas. "}`},
		{"/reservation", slices.Concat(book, good), booked},
		{"/reservation", slices.Concat(book, good, []string{"number=3"}), booked},
		{"/reservation", slices.Concat(book, good, []string{"lat=nil", "lon=nil"}), booked},
		{"/reservation", slices.Concat(book, wrong), refused},
		{"/reservation", slices.Concat(book, good, []string{"number=2147483647"}), full},
	} {
		if got := a.get(one.path, one.parameters...); got.status != 200 || got.body != one.want {
			t.Errorf("%s %v: got %d %s, want %s", one.path, one.parameters, got.status, got.body, one.want)
		}
	}
	// One was there, three succeeded.
	if got := a.reservations(); got != 4 {
		t.Errorf("the store holds %d reservations, want 4", got)
	}
}

func testBadInput(t *testing.T, a *app) {
	good := credentials(7)
	here := []string{"lat=37.9455", "lon=-122.194"}
	book := slices.Concat([]string{"customerName=Bob", "hotelId=80"}, stay, good)
	long := strings.Repeat("9", 201)
	for _, one := range []struct {
		path       string
		parameters []string
		want       string
	}{
		{"/hotels", nil, needDates},
		{"/hotels", here, needDates},
		{"/hotels", append([]string{"inDate=2015-04-10"}, here...), needDates},
		{"/hotels", stay, needLocation},
		{"/hotels", append([]string{"lat=37.9"}, stay...), needLocation},
		{"/hotels", append([]string{"lat=north", "lon=-122"}, stay...), needLocation},
		{"/hotels", append([]string{"lat=NaN", "lon=-122"}, stay...), needLocation},
		{"/hotels", append([]string{"lat=1e300", "lon=-122"}, stay...), needLocation},
		{"/hotels", append([]string{"lat=37.9", "lon=-Inf"}, stay...), needLocation},
		{"/hotels", append([]string{"inDate=10.4.2015", "outDate=2015-04-12"}, here...), needFormat},
		{"/hotels", append([]string{"inDate=2015-02-30", "outDate=2015-04-12"}, here...), needFormat},
		{"/hotels", append([]string{"inDate=2015-04-12", "outDate=2015-04-10"}, here...), needOrder},
		{"/hotels", append([]string{"inDate=2015-04-12", "outDate=2015-04-12"}, here...), needOrder},
		{"/hotels", append([]string{"inDate=0001-01-01", "outDate=9999-12-31"}, here...), needOrder},
		{"/recommendations", nil, needLocation},
		{"/recommendations", here, needRequire},
		{"/recommendations", append([]string{"require=best"}, here...), needRequire},
		{"/recommendations", []string{"require=dis", "lat=x", "lon=1"}, needLocation},
		{"/user", nil, needCredentials},
		{"/user", good[:1], needCredentials},
		{"/user", []string{"username=\xff", "password=x"}, needCredentials},
		{"/user", []string{"username=" + long, "password=x"}, needCredentials},
		{"/review", []string{"hotelId=1"}, needCredentials},
		{"/review", good, needHotel},
		{"/restaurants", good, needHotel},
		{"/museums", nil, needCredentials},
		{"/cinema", append([]string{"hotelId=" + long}, good...), needHotel},
		{"/reservation", nil, needDates},
		{"/reservation", append(without(book, "inDate"), "inDate=2015-4-1"), needFormat},
		{"/reservation", append(without(book, "outDate"), "outDate=2015-04-09"), needOrder},
		{"/reservation", without(book, "hotelId"), needHotel},
		{"/reservation", append(without(book, "hotelId"), "hotelId=8\x000"), needHotel},
		{"/reservation", append(without(book, "hotelId"), "hotelId=8 0"), needHotel},
		{"/reservation", without(book, "customerName"), needCustomer},
		{"/reservation", without(book, "username"), needCredentials},
		{"/reservation", append(book, "number=0"), `Please check number: "0" is not a number of rooms (1 or more)`},
		{"/reservation", append(book, "number=two"), `Please check number: "two" is not a number of rooms (1 or more)`},
		{"/reservation", append(book, "number=99999999999"), `Please check number: "99999999999" is not a number of rooms (1 or more)`},
	} {
		got := a.get(one.path, one.parameters...)
		if got.status != http.StatusBadRequest || got.body != one.want+"\n" {
			t.Errorf("%s %v: got %d %q, want %q", one.path, one.parameters, got.status, got.body, one.want)
		}
		if got.header.Get("Access-Control-Allow-Origin") != "*" || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: headers %v", one.path, got.header)
		}
	}
	for _, id := range []string{"999", "0", "80_cap", "Zürich"} {
		got := a.get("/reservation", append(without(book, "hotelId"), "hotelId="+id)...)
		if got.status != http.StatusNotFound || !strings.Contains(got.body, id) {
			t.Errorf("hotel %q: %d %s", id, got.status, got.body)
		}
	}
}

func without(parameters []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(parameters), func(one string) bool { return strings.HasPrefix(one, name+"=") })
}
