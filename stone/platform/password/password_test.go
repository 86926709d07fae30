package password

import "testing"

func TestIn(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://postgres@db:5432/postgres?sslmode=disable": "postgres://postgres:p%2Fw@db:5432/postgres?sslmode=disable",
		"mongodb://root@db:27017":                              "mongodb://root:p%2Fw@db:27017",
		"mongodb://db:27017":                                   "mongodb://db:27017",
		"postgres://me:mine@db/postgres":                       "postgres://me:mine@db/postgres",
		"db:6379":                                              "db:6379",
		"":                                                     "",
		"postgres://root:hunter2@[bad/one":                     "postgres://root:hunter2@[bad/one",
	} {
		if got := In(address, "p/w"); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if got := In("mongodb://root@db:27017", ""); got != "mongodb://root@db:27017" {
		t.Error(got)
	}
}
