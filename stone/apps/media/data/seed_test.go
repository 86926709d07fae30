package data_test

import (
	"slices"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/media/data"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
)

var stores = map[string]func(testing.TB) string{"postgres": servertest.Postgres, "mongo": servertest.Mongo}

// planAt keeps every service's documents on one server; they stay apart by database.
func planAt(address string) seeding.Plan {
	plan := seeding.Plan{Stores: map[string]string{}, Dataset: []byte(`{"users": 40}`)} // hashes take time
	for _, service := range []string{
		"movie-id", "user", "review-storage", "movie-review", "user-review", "movie-info", "cast-info", "plot",
	} {
		plan.Stores["documents-"+service] = address
	}
	return plan
}

func run(t *testing.T, plan seeding.Plan, mode seeding.Mode) seeding.Result {
	t.Helper()
	seed, err := data.NewSeed(plan)
	if err != nil {
		t.Fatal(err)
	}
	result, err := seeding.Run(t.Context(), plan, seed, mode)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func row(t *testing.T, result seeding.Result, store, collection string) seeding.Row {
	t.Helper()
	i := slices.IndexFunc(result.Stores, func(row seeding.Row) bool { return row.Store == store && row.Collection == collection })
	if i < 0 {
		t.Fatalf("no row of %s, %s in %+v", store, collection, result.Stores)
	}
	return result.Stores[i]
}

func open(t *testing.T, address string) documents.Store {
	t.Helper()
	store, err := documents.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close(t.Context()) })
	return store
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheSeedIsFilledVerifiedAndReset(t *testing.T) {
	for adapter, server := range stores {
		t.Run(adapter, func(t *testing.T) {
			plan := planAt(server(t))
			store := open(t, plan.Stores["documents-user"])
			if before := run(t, plan, seeding.Verify); before.OK {
				t.Errorf("empty stores hold the seed: %+v", before)
			}
			for range 2 {
				filled := run(t, plan, seeding.Fill)
				for _, want := range []seeding.Row{
					{Store: "movie-id", Collection: "movie-id", Want: 1000, Have: 1000},
					{Store: "movie-info", Collection: "movie-info", Want: 1000, Have: 1000},
					{Store: "plot", Collection: "plot", Want: 1000, Have: 1000},
					{Store: "cast-info", Collection: "cast-info", Want: 1000, Have: 1000},
					{Store: "user", Collection: "user", Want: 40, Have: 40},
					{Store: "review-storage", Collection: "review"},
					{Store: "movie-review", Collection: "entries"},
				} {
					if have := row(t, filled, want.Store, want.Collection); have != want {
						t.Errorf("%+v, want %+v", have, want)
					}
				}
				if !filled.OK {
					t.Errorf("filled, but not OK: %+v", filled)
				}
			}
			var user data.User
			must(t, data.Users.In(store).Get(t.Context(), &user, documents.Equal("username", "username_40")))
			if user.UserID != 40 || !accounts.Check(user.Password, user.Salt, "password_40") {
				t.Errorf("%+v cannot log in", user)
			}

			write(t, store, data.Review{ReviewID: 5, MovieID: "7", UserID: 3, Timestamp: 9}, true, true)
			user.Password = "other"
			must(t, data.Users.In(store).Put(t.Context(), documents.Keyed{Key: "40", Document: user}))
			changed := run(t, plan, seeding.Verify)
			if changed.OK || row(t, changed, "user", "user").Differing != 1 || row(t, changed, "user-review", "entries").Have != 1 {
				t.Errorf("a review more and a password changed: %+v", changed)
			}
			if counted := run(t, plan, seeding.Count); !counted.OK || row(t, counted, "review-storage", "review").Have != 1 {
				t.Errorf("counted: %+v", counted)
			}
			if again := run(t, plan, seeding.Reset); !again.OK {
				t.Errorf("reset: %+v", again)
			}
		})
	}
}

// write stores a review, and puts it into the given lists.
func write(t *testing.T, store documents.Store, review data.Review, inFilms, inUsers bool) {
	t.Helper()
	entry := data.Entry{ReviewID: review.ReviewID, Timestamp: review.Timestamp}
	must(t, data.Reviews.In(store).Insert(t.Context(), review))
	if inFilms {
		must(t, data.MovieReviews.In(store).Push(t.Context(), documents.Equal("movie_id", review.MovieID), "reviews", entry, ""))
	}
	if inUsers {
		must(t, data.UserReviews.In(store).Push(t.Context(), documents.Equal("user_id", review.UserID), "reviews", entry, ""))
	}
}

func TestReviewsAndListsAreComparedBothWays(t *testing.T) {
	for adapter, server := range stores {
		t.Run(adapter, func(t *testing.T) {
			plan := planAt(server(t))
			store := open(t, plan.Stores["documents-user"])
			for id := range int64(3) {
				write(t, store, data.Review{ReviewID: id, MovieID: "7", UserID: 3}, true, true)
			}
			if good := run(t, plan, seeding.Check); !good.OK || len(good.Rows) != 4 {
				t.Errorf("three reviews in their lists: %+v", good)
			}

			write(t, store, data.Review{ReviewID: 10, MovieID: "7", UserID: 3}, true, false)
			wantFinding(t, run(t, plan, seeding.Check), "reviews that are in the list of their user once", 4, 3, "review 10 of user 3, 0 times")
			plan.Unfinished = 1
			if tolerated := run(t, plan, seeding.Check); !tolerated.OK {
				t.Errorf("one write was not answered: %+v", tolerated)
			}
			plan.Unfinished = 0

			stray := data.Entry{ReviewID: 99}
			must(t, data.UserReviews.In(store).Push(t.Context(), documents.Equal("user_id", int64(8)), "reviews", stray, ""))
			wantFinding(t, run(t, plan, seeding.Check), "entries in the lists of users that are reviews of theirs", 4, 3, "review 99 in the list of user 8")

			twice := data.Entry{ReviewID: 1}
			must(t, data.MovieReviews.In(store).Push(t.Context(), documents.Equal("movie_id", "7"), "reviews", twice, ""))
			wantFinding(t, run(t, plan, seeding.Check), "reviews that are in the list of their film once", 4, 3, "review 1 of film 7, 2 times")
			wantFinding(t, run(t, plan, seeding.Check), "entries in the lists of films that are reviews of theirs", 5, 4, "review 1 in the list of film 7")

			write(t, store, data.Review{ReviewID: 11, MovieID: "7", UserID: 3}, false, true)
			must(t, data.MovieReviews.In(store).Push(t.Context(), documents.Equal("movie_id", "8"), "reviews", data.Entry{ReviewID: 11}, ""))
			wantFinding(t, run(t, plan, seeding.Check), "entries in the lists of films that are reviews of theirs", 6, 4, "review 11 in the list of film 8")
		})
	}
}

func wantFinding(t *testing.T, result seeding.Result, what string, want, have int, example string) {
	t.Helper()
	i := slices.IndexFunc(result.Rows, func(one seeding.Finding) bool { return one.What == what })
	if i < 0 || result.OK {
		t.Fatalf("OK %v, no %q in %+v", result.OK, what, result.Rows)
	}
	found := result.Rows[i]
	if found.OK || found.Want != want || found.Have != have || !slices.Contains(found.Examples, example) {
		t.Errorf("%+v, want %d of %d and %q", found, have, want, example)
	}
}

func TestUnderQuirksPasswordsAreHashedAsPublished(t *testing.T) {
	plan := planAt(servertest.Postgres(t))
	plan.Profile = "dsb-quirks"
	for range 2 {
		if filled := run(t, plan, seeding.Fill); !filled.OK {
			t.Fatalf("%+v", filled)
		}
	}
	var user data.User
	must(t, data.Users.In(open(t, plan.Stores["documents-user"])).Get(t.Context(), &user, documents.Equal("username", "username_7")))
	if len(user.Salt) != 32 || user.Password != accounts.LegacyHash("password_7", user.Salt) {
		t.Errorf("%+v", user)
	}
	plan.Profile = ""
	if other := run(t, plan, seeding.Verify); other.OK || row(t, other, "user", "user").Differing != 40 {
		t.Errorf("the default users are taken for those of dsb-quirks: %+v", other)
	}
}

func TestADatasetSaysHowMany(t *testing.T) {
	plan := seeding.Plan{Dataset: []byte(`{"films": 1200, "users": 5}`)}
	seed, err := data.NewSeed(plan)
	if err != nil || seed.Describe()["films"] != 1200 || seed.Describe()["users"] != 5 {
		t.Errorf("%v, %v", seed, err)
	}
	for dataset, says := range map[string]string{
		`{"films": 999}`: "dataset: films: 999; give 1000 to 4000",
		`{"users": 0}`:   "dataset: users: 0; give 1 to 100000",
		`{"user": 5}`:    `unknown field "user"`,
	} {
		if _, err := data.NewSeed(seeding.Plan{Dataset: []byte(dataset)}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", dataset, err, says)
		}
	}
	if _, err := data.NewSeed(seeding.Plan{Profile: "paper"}); err == nil || !strings.Contains(err.Error(), `profile "paper"`) {
		t.Errorf("profile paper: %v", err)
	}
}
