package data_test

import (
	"fmt"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/hotel/data"
	"loadstone.dev/stone/platform/cache"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
)

var services = []string{"geo", "profile", "rate", "recommendation", "reservation", "user", "review", "attractions"}

// planAt keeps every service's documents on one server; they stay apart by database.
func planAt(address, memcached string) seeding.Plan {
	plan := seeding.Plan{Stores: map[string]string{}, Caches: map[string]string{"memcached-rate": memcached}}
	for _, service := range services {
		plan.Stores["documents-"+service] = address
	}
	return plan
}

func run(t *testing.T, plan seeding.Plan, mode seeding.Mode) seeding.Result {
	t.Helper()
	seed, err := data.New(plan.Profile)
	if err != nil {
		t.Fatal(err)
	}
	result, err := seeding.Run(t.Context(), plan, seed, mode)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestSeedFillsResetsAndVerifies(t *testing.T) {
	for adapter, server := range map[string]func(testing.TB) string{"postgres": servertest.Postgres, "mongo": servertest.Mongo} {
		t.Run(adapter, func(t *testing.T) {
			address, memcached := server(t), servertest.Memcached(t)
			plan := planAt(address, memcached)

			before := run(t, plan, seeding.Verify)
			if before.OK || total(before) != 0 {
				t.Errorf("before seeding: ok %v, %d documents", before.OK, total(before))
			}
			for range 2 {
				wantSeed(t, run(t, plan, seeding.Fill))
			}
			remember(t, memcached)
			loseAndAdd(t, address)

			after := run(t, plan, seeding.Verify)
			if after.OK || have(after, "reservation") != 2 || differing(after, "hotels") != 1 {
				t.Errorf("Verify does not see a reservation more and a profile changed: %+v", after)
			}
			if again := run(t, plan, seeding.Fill); again.OK {
				t.Error("Fill calls a store with a foreign reservation good")
			}
			remember(t, memcached)
			wantSeed(t, run(t, plan, seeding.Reset))
			wantSeed(t, run(t, plan, seeding.Verify))
			wantForgotten(t, memcached)

			plan.Profile = "dsb-quirks"
			if other := run(t, plan, seeding.Verify); other.OK || differing(other, "user") != 501 {
				t.Errorf("Verify takes the default users for those of dsb-quirks: %+v", other)
			}
			if counted := run(t, plan, seeding.Count); !counted.OK || total(counted) != 880 {
				t.Errorf("Count: ok %v, %d documents, want 880", counted.OK, total(counted))
			}
		})
	}
}

// loseAndAdd does what load and accidents do: one reservation more, one profile another.
func loseAndAdd(t *testing.T, address string) {
	t.Helper()
	store, err := documents.Open(t.Context(), address)
	check(t, err)
	defer func() { check(t, store.Close(t.Context())) }()
	check(t, data.Reservations.In(store).Insert(t.Context(), data.Reservation{HotelID: "7", CustomerName: "Bob", Number: 1}))
	profiles := data.AllProfiles()
	profiles[6].Name = "Another"
	check(t, data.Profiles.In(store).Put(t.Context(), documents.Keyed{Key: "7", Document: profiles[6]}))
}

func remember(t *testing.T, memcached string) {
	t.Helper()
	opened, err := cache.Open(memcached)
	check(t, err)
	check(t, opened.Set(t.Context(), "7", []byte("old")))
	check(t, opened.Close())
}

func wantForgotten(t *testing.T, memcached string) {
	t.Helper()
	opened, err := cache.Open(memcached)
	check(t, err)
	if found, err := opened.GetMulti(t.Context(), []string{"7"}); err != nil || len(found) != 0 {
		t.Errorf("the cache still holds %v, %v", found, err)
	}
	check(t, opened.Close())
}

func wantSeed(t *testing.T, result seeding.Result) {
	t.Helper()
	const want = "[geo/geo 80 profile/hotels 80 rate/inventory 27 recommendation/recommendation 80 " +
		"reservation/reservation 1 reservation/night 1 reservation/number 80 user/user 501 review/reviews 6 " +
		"attractions/hotels 6 attractions/restaurants 6 attractions/museums 6 attractions/cinemas 6]"
	var got []string
	for _, row := range result.Stores {
		got = append(got, fmt.Sprintf("%s/%s %d", row.Store, row.Collection, row.Have))
		if row.Want != row.Have || row.Differing != 0 {
			t.Errorf("row %+v", row)
		}
	}
	if !result.OK || fmt.Sprint(got) != want {
		t.Errorf("ok %v, %v", result.OK, got)
	}
}

func total(result seeding.Result) (sum int) {
	for _, row := range result.Stores {
		sum += row.Have
	}
	return sum
}

func row(result seeding.Result, collection string) seeding.Row {
	for _, row := range result.Stores {
		if row.Collection == collection {
			return row
		}
	}
	return seeding.Row{}
}

func have(result seeding.Result, collection string) int { return row(result, collection).Have }
func differing(result seeding.Result, collection string) int {
	return row(result, collection).Differing
}

func TestPlanThatDoesNotFitSaysWhich(t *testing.T) {
	seed, err := data.New("")
	check(t, err)
	for name, example := range map[string]struct {
		change func(seeding.Plan)
		says   string
	}{
		"missing":   {func(p seeding.Plan) { delete(p.Stores, "documents-geo") }, "documents-geo"},
		"unknown":   {func(p seeding.Plan) { p.Stores["documents-hotel"] = "x" }, `"documents-hotel"`},
		"bad store": {func(p seeding.Plan) { p.Stores["documents-geo"] = "sqlite://x" }, "sqlite://x"},
	} {
		plan := planAt("postgres://127.0.0.1:1/postgres", "127.0.0.1:1")
		example.change(plan)
		_, err := seeding.Run(t.Context(), plan, seed, seeding.Count)
		if err == nil || !strings.Contains(err.Error(), example.says) || !strings.Contains(err.Error(), "bad plan") {
			t.Errorf("%s: %v, want a bad plan that names %s", name, err, example.says)
		}
	}
	if _, err := data.New("quirks"); err == nil {
		t.Error("profile quirks: no error")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
