package seed_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/social/seed"
	"loadstone.dev/stone/platform/seeding"
)

func TestDescribeTellsTheNumbers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "own.edges")
	check(t, os.WriteFile(file, []byte("0 1\n1 2\n"), 0o600))
	for dataset, want := range map[string]string{
		`{"users": 962, "edges": 18812}`: `{"edges":18812,"followers_max":313,"followers_mean":39.11018711018711,"followers_median":29,` +
			`"follows":37624,"home_timeline_newest":0,"posts":0,"posts_per_user":0,"users":962}`,
		fmt.Sprintf(`{"file": %q, "posts_per_user": 3}`, file): `{"edges":2,"followers_max":2,"followers_mean":1.3333333333333333,` +
			`"followers_median":1,"follows":4,"home_timeline_newest":0,"posts":8,"posts_per_user":3,"users":3}`,
	} {
		made, err := seed.New(seeding.Plan{Dataset: json.RawMessage(dataset)})
		check(t, err)
		if got, err := json.Marshal(made.Describe()); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", dataset, got, err, want)
		}
	}
}

func TestWrongDatasetsAreNamed(t *testing.T) {
	for dataset, says := range map[string]string{
		``:                              `dataset: give "users" and "edges" (962 and 18812 are`,
		`{}`:                            `dataset: give "users" and "edges"`,
		`{"users": 962}`:                "dataset: 962 nodes and 0 edges: want",
		`{"users": 10, "edges": 46}`:    "dataset: 10 nodes and 46 edges: want",
		`{"users": "x", "edges": 46}`:   "dataset: json: cannot unmarshal string",
		`{"user": 10, "edges": 46}`:     `dataset: json: unknown field "user"`,
		`{"file": "a.edges","users":9}`: "dataset: file a.edges: remove users and edges",
		`{"file": "absent.edges"}`:      "absent.edges",
		`{"users": 10, "edges": 20, "posts_per_user": 101}`: "dataset: posts_per_user 101: want 0 to 100",
		`{"users": 10, "edges": 20, "posts_per_user": -1}`:  "dataset: posts_per_user -1: want 0 to 100",
	} {
		if _, err := seed.New(seeding.Plan{Dataset: json.RawMessage(dataset)}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", dataset, err, says)
		}
	}
	if _, err := seed.New(seeding.Plan{Profile: "quirks"}); err == nil || !strings.Contains(err.Error(), `profile "quirks"`) {
		t.Errorf("profile quirks: %v", err)
	}
}
