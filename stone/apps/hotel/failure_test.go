package hotel_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/service"
)

func TestServicesWaitForTheirData(t *testing.T) {
	a := startUnseeded(t, "", servertest.Postgres)
	for name, says := range map[string]string{
		"geo": "geo-db.geo: holds 0 of 80 documents", "rate": "holds 0 of 27", "profile": "holds 0 of 80",
		"recommendation": "holds 0 of 80", "user": "holds 0 of 501", "reservation": "reservation-db.number: holds 0 of 80",
		"review": "holds 0 of 6", "attractions": "attractions-db.hotels: holds 0 of 6",
		"search": "not connected", "frontend": "not connected",
	} {
		apptest.Eventually(t, name+" says "+says, func() bool {
			ready, body := a.Replica(name).Ready()
			return !ready && strings.Contains(body, says)
		})
	}
	// The front end says so on its own port, too, and a request fails without ado.
	if status, _ := fetch(t, a.URL("frontend")+"/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("front end: /readyz %d", status)
	}
	if status, _ := fetch(t, a.URL("frontend")+"/healthz"); status != http.StatusOK {
		t.Errorf("front end: /healthz %d", status)
	}
	if got := a.get("/user", credentials(1)...); got.status != http.StatusInternalServerError || !strings.Contains(got.body, "Unavailable") {
		t.Errorf("a login before there are users: %d %s", got.status, got.body)
	}
	a.seed(seeding.Fill)
	a.WaitReady()
	if got := a.get("/user", credentials(1)...); got.body != loggedIn {
		t.Errorf("after the seed: %d %s", got.status, got.body)
	}
}

func TestACacheThatIsDownIsAMiss(t *testing.T) {
	a := startApp(t, "", servertest.Postgres)
	requests := map[string][]string{
		"/hotels":          append([]string{"lat=37.9455", "lon=-122.194"}, stay...),
		"/recommendations": {"require=rate", "lat=38", "lon=-122"},
		"/review":          append([]string{"hotelId=1"}, credentials(7)...),
	}
	whole := make(map[string]answer)
	for path, parameters := range requests {
		whole[path] = a.get(path, parameters...)
	}
	for _, cache := range a.caches() {
		cache.Cut()
	}
	for range 20 {
		for path, parameters := range requests {
			if got := a.get(path, parameters...); got.status != 200 || got.body != whole[path].body {
				t.Fatalf("%s: %d %s", path, got.status, got.body)
			}
		}
	}
	for _, name := range []string{"rate", "profile", "review", "reservation"} {
		counted := int64(0)
		var lines int
		for _, one := range a.Replicas(name) {
			counted += failures(t, one)
			lines += strings.Count(one.Log(), "cache failed")
		}
		if counted < 20 || lines == 0 || int64(lines) > counted/2 {
			t.Errorf("%s: %d failures counted, %d logged", name, counted, lines)
		}
		_, state := a.Replica(name).Ready()
		if !strings.Contains(state, `"ready":true`) || !strings.Contains(state, `"degraded"`) {
			t.Errorf("%s: %s", name, state)
		}
	}
	for _, cache := range a.caches() {
		cache.Mend()
	}
	rate := a.Replica("rate")
	apptest.Eventually(t, "the cache is used again", func() bool {
		before := failures(t, rate)
		got := a.get("/hotels", requests["/hotels"]...)
		return got.body == whole["/hotels"].body && failures(t, rate) == before
	})
}

// failures sums a service's failures of caches.
func failures(t *testing.T, one *apptest.Replica) (sum int64) {
	t.Helper()
	_, body := fetch(t, "http://"+one.Admin+"/counters")
	counters := make(map[string]int64)
	if err := json.Unmarshal([]byte(body), &counters); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	for name, count := range counters {
		if strings.HasSuffix(name, " failures") {
			sum += count
		}
	}
	return sum
}

func TestAStoreThatGoesAwayAndComesBack(t *testing.T) {
	a := startApp(t, "", servertest.Postgres)
	book := func() answer { return a.book(5, 10, 12, 1) }
	if got := book(); got.body != booked {
		t.Fatal(got.body)
	}
	a.Links["documents"].Cut()
	if got := book(); got.status != http.StatusInternalServerError || !strings.Contains(got.body, "Unavailable") {
		t.Errorf("a booking without store: %d %s", got.status, got.body)
	}
	if got := a.get("/review", append([]string{"hotelId=1"}, credentials(7)...)...); got.status != http.StatusInternalServerError {
		t.Errorf("reviews that are in no cache: %d %s", got.status, got.body)
	}
	if got := a.get("/user", credentials(7)...); got.body != loggedIn {
		t.Errorf("what is in memory needs no store: %s", got.body)
	}
	a.Links["documents"].Mend()
	apptest.Eventually(t, "bookings succeed again", func() bool { return book().body == booked })
}

func TestAServiceThatGoesAwayAndComesBack(t *testing.T) {
	a := startApp(t, "", servertest.Postgres)
	search := func() answer {
		return a.get("/hotels", append([]string{"lat=37.9455", "lon=-122.194"}, stay...)...)
	}
	geo := a.Replica("geo")
	if code := geo.Stop(); code != service.Done {
		t.Errorf("geo: exit %d", code)
	}
	if got := search(); got.status != http.StatusInternalServerError || !strings.Contains(got.body, "rpc error") {
		t.Errorf("without geo: %d %s", got.status, got.body)
	}
	geo.Start()
	apptest.Eventually(t, "searches succeed again", func() bool { return search().status == 200 })

	// With two replicas the loss of one is no failure.
	if code := a.Replica("reservation").Stop(); code != service.Done {
		t.Errorf("reservation: exit %d", code)
	}
	for i := range 50 {
		if got := search(); got.status != 200 {
			t.Fatalf("request %d with one replica of reservation: %d %s", i, got.status, got.body)
		}
	}
}

func TestGracefulStopUnderLoad(t *testing.T) {
	a := startApp(t, "", servertest.Postgres)
	stop := make(chan struct{})
	statuses := make(chan []int)
	go func() {
		var seen []int
		for {
			select {
			case <-stop:
				statuses <- seen
				return
			default:
				seen = append(seen, a.get("/hotels", append([]string{"lat=37.9455", "lon=-122.194"}, stay...)...).status)
			}
		}
	}()
	reservation := a.Replica("reservation")
	for range 5 {
		if code := reservation.Stop(); code != service.Done {
			t.Fatalf("exit %d: %s", code, reservation.Log())
		}
		reservation.Start()
		reservation.WaitReady()
	}
	close(stop)
	seen := <-statuses
	if len(seen) == 0 || slices.ContainsFunc(seen, func(status int) bool { return status != 200 }) {
		t.Errorf("%d requests while one of two replicas restarted: %v", len(seen), seen)
	}
}
