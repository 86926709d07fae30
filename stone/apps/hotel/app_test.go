package hotel_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/hotel"
	"loadstone.dev/stone/apps/hotel/data"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/seeding"
)

// app is the whole of Hotel Reservation in this process, with two replicas of reservation, over real stores, each behind
// a link that can be cut.
type app struct {
	*apptest.App
	t *testing.T
}

// startApp starts stores, caches and services, in the wrong order, and seeds the stores.
func startApp(t *testing.T, profile string, store func(testing.TB) string, collector ...string) *app {
	t.Helper()
	a := startUnseeded(t, profile, store, collector...)
	a.seed(seeding.Fill)
	a.WaitReady()
	return a
}

// startUnseeded may name a collector, host:port, which is then sent spans.
func startUnseeded(t *testing.T, profile string, store func(testing.TB) string, collector ...string) *app {
	t.Helper()
	return &app{apptest.StartTraced(t, strings.Join(collector, ""), "hotel", hotel.Services, profile, store, "reservation"), t}
}

// caches are the links to them, by name.
func (a *app) caches() map[string]*apptest.Link {
	links := maps.Clone(a.Links)
	delete(links, "documents")
	return links
}

func (a *app) plan() seeding.Plan {
	plan := seeding.Plan{Stores: make(map[string]string), Caches: make(map[string]string), Profile: a.Profile}
	for _, name := range []string{"geo", "profile", "rate", "recommendation", "reservation", "user", "review", "attractions"} {
		plan.Stores["documents-"+name] = a.Documents
	}
	for name, cache := range a.caches() {
		plan.Caches[name] = cache.Address
	}
	return plan
}

func (a *app) seed(mode seeding.Mode) seeding.Result {
	a.t.Helper()
	seed, err := data.New(a.Profile)
	if err != nil {
		a.t.Fatal(err)
	}
	result, err := seeding.Run(a.t.Context(), a.plan(), seed, mode)
	if err != nil {
		a.t.Fatal(err)
	}
	return result
}

// reservations is how many reservations the store holds.
func (a *app) reservations() int {
	a.t.Helper()
	for _, row := range a.seed(seeding.Count).Stores {
		if row.Collection == "reservation" {
			return row.Have
		}
	}
	a.t.Fatal("no collection reservation")
	return 0
}

// wantAgreement compares stays and counted rooms.
func (a *app) wantAgreement() {
	a.t.Helper()
	result := a.seed(seeding.Check)
	if len(result.Rows) != 3 || !result.OK {
		a.t.Errorf("the stores do not agree: %+v", result.Rows)
	}
}

// answer is the front end's.
type answer struct {
	status int
	header http.Header
	body   string
}

// get queries the front end; parameters are "name=value", encoded here.
func (a *app) get(path string, parameters ...string) answer {
	a.t.Helper()
	return a.ask(http.MethodGet, path, parameters...)
}

func (a *app) ask(method, path string, parameters ...string) answer {
	a.t.Helper()
	query := make(url.Values)
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(parameter, "=")
		query.Add(name, value)
	}
	request, err := http.NewRequestWithContext(a.t.Context(), method,
		a.URL("frontend")+path+"?"+query.Encode(), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		a.t.Error(err)
		return answer{}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		a.t.Error(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

// fetch returns status 0 if there is no answer.
func fetch(t *testing.T, address string) (int, string) {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

// credentials of a user of the workload.
func credentials(number int) []string {
	return []string{fmt.Sprintf("username=Cornell_%d", number), "password=" + strings.Repeat(fmt.Sprint(number), 10)}
}
