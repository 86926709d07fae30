package seed

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/tables"
)

func TestWrongDatasets(t *testing.T) {
	for dataset, says := range map[string]string{
		`{"users": 0}`: "users: 0: want 1", `{"users": 10000001}`: "want 1 to 10000000", `{"balance": -1}`: "balance: -1",
		`{"orders": 5}`: "orders", `{"users": "many"}`: "users",
	} {
		if _, err := New(seeding.Plan{Dataset: json.RawMessage(dataset)}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", dataset, err)
		}
	}
	made, err := New(seeding.Plan{})
	if err != nil || !maps.Equal(made.Describe(), map[string]any{"users": int64(1000), "balance": int64(1_000_000_000)}) {
		t.Error(made.Describe(), err)
	}
}

// What differs from the seed is counted, and unpaid orders are found.
func TestStoresThatHoldSomethingElse(t *testing.T) {
	address := servertest.Postgres(t)
	plan := seeding.Plan{Stores: map[string]string{}, Dataset: json.RawMessage(`{"users": 4, "balance": 100}`)}
	for _, name := range []string{"order", "user", "payment"} {
		plan.Stores["postgres-"+name] = address
	}
	made, err := New(plan)
	if err != nil {
		t.Fatal(err)
	}
	run := func(mode seeding.Mode) seeding.Result {
		t.Helper()
		result, err := seeding.Run(t.Context(), plan, made, mode)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if got := run(seeding.Verify); got.OK || got.Stores[1].Have != 0 || got.Stores[1].Want != 4 {
		t.Error("nothing is the seed", got)
	}
	if got := run(seeding.Fill); !got.OK {
		t.Error(got)
	}
	change := func(statement string) {
		t.Helper()
		pool, err := tables.Open(t.Context(), address, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	change("UPDATE users SET balance = 90 WHERE id = 2")
	if got := run(seeding.Verify); got.OK || got.Stores[1].Differing != 1 {
		t.Error(got)
	}
	change("INSERT INTO orders (user_id, amount) VALUES (2, 5), (2, 6), (4, 1), (9, 1)")
	got := run(seeding.Check)
	if one := got.Rows[0]; got.OK || one.Want != 3 || one.Have != 0 || len(one.Examples) != 3 ||
		!strings.Contains(strings.Join(one.Examples, "; "), "user 2 paid 10 of 11") {
		t.Error(got)
	}
	if got := run(seeding.Reset); !got.OK {
		t.Error(got)
	}
}

func TestFilesThatCannotBeCleared(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if err := clearFiles(t.Context(), strings.TrimPrefix(server.URL, "http://")); err == nil || !strings.Contains(err.Error(), "status 404") {
		t.Error(err)
	}
}
