package seeding_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/seeding"
)

func TestReadPlan(t *testing.T) {
	plan, err := seeding.ReadPlan(write(t, `{"stores": {"documents-geo": "mongodb://a:1"},
		"caches": {"memcached-rate": "b:2,c:3"}, "profile": "dsb-quirks", "redis": {"redis-a": "d:4"},
		"dataset": {"users": 5}, "entry": ["e:5", "f:6"], "unfinished": 7}`))
	if plan.Redis["redis-a"] != "d:4" || len(plan.Entry) != 2 || plan.Unfinished != 7 {
		t.Errorf("%+v", plan)
	}
	var dataset struct{ Users int }
	if err := plan.DatasetInto(&dataset); err != nil || dataset.Users != 5 {
		t.Errorf("dataset %+v, %v", dataset, err)
	}
	if err := plan.DatasetInto(&struct{ Films int }{}); err == nil || !strings.Contains(err.Error(), `dataset: json: unknown field "users"`) {
		t.Errorf("a key that is not known: %v", err)
	}
	if err != nil || plan.Stores["documents-geo"] != "mongodb://a:1" || plan.Caches["memcached-rate"] != "b:2,c:3" ||
		plan.Profile != "dsb-quirks" {
		t.Errorf("%+v, %v", plan, err)
	}
}

func TestReadPlanNamesFileLineAndFault(t *testing.T) {
	for text, says := range map[string]string{
		"{\n\"stores\": {},\n\"store\": 1}":   `seed.json:3: json: unknown field "store"`,
		"{\n\n\"stores\": [\"postgres://\"]}": "seed.json:3: ",
		"":                                    "seed.json:1: ",
	} {
		if _, err := seeding.ReadPlan(write(t, text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
	if _, err := seeding.ReadPlan("absent.json"); err == nil || !strings.Contains(err.Error(), "absent.json") {
		t.Errorf("absent file: %v", err)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "seed.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
