package config

import (
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func environment(changes map[string]string) func(string) string {
	variables := map[string]string{
		"STONE_LISTEN":              "127.0.0.1:8084",
		"STONE_ADMIN":               "127.0.0.1:9084",
		"STONE_NEED_GEO":            "10.0.0.1:8083, 10.0.0.2:8083",
		"STONE_NEED_MEMCACHED_RATE": "memcached-rate:11211",
		"STONE_DOCUMENTS":           "postgres://postgres@127.0.0.1:5432/postgres",
		"STONE_LOG_LEVEL":           "warn",
	}
	for name, value := range changes {
		variables[name] = value
	}
	return func(name string) string { return variables[name] }
}

var wants = Wants{Needs: []string{"geo", "memcached-rate"}, Documents: true}

func TestLoad(t *testing.T) {
	got, err := Load(wants, environment(map[string]string{
		"STONE_PROFILE": "dsb-quirks", "STONE_TRACES": "desk:4317,load-2:4317", "STONE_TRACES_SAMPLE": "0.01",
		"STONE_TRACES_INTERVAL": "500ms", "STONE_REPLICA": "rate-2",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Listen: "127.0.0.1:8084", Admin: "127.0.0.1:9084",
		Needs: map[string][]string{
			"geo": {"10.0.0.1:8083", "10.0.0.2:8083"}, "memcached-rate": {"memcached-rate:11211"},
		},
		Documents: "postgres://postgres@127.0.0.1:5432/postgres", Quirks: true, LogLevel: slog.LevelWarn,
		Traces: Traces{Collectors: []string{"desk:4317", "load-2:4317"}, Sample: 0.01, Interval: 500 * time.Millisecond, Replica: "rate-2"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNothingIsTracedByDefault(t *testing.T) {
	got, err := Load(wants, environment(nil))
	if err != nil || !reflect.DeepEqual(got.Traces, Traces{Sample: 1, Interval: 2 * time.Second}) {
		t.Errorf("%+v, error %v", got.Traces, err)
	}
}

func TestANeedMayBeAFile(t *testing.T) {
	got, err := Load(wants, environment(map[string]string{"STONE_NEED_GEO": "file:/local/need, 1"}))
	if err != nil || !slices.Equal(got.Needs["geo"], []string{"file:/local/need, 1"}) {
		t.Errorf("%q, error %v", got.Needs["geo"], err)
	}
}

func TestErrorsNameVariableValueAndRemedy(t *testing.T) {
	for _, wrong := range []struct{ variable, value, remedy string }{
		{"STONE_LISTEN", "", "host:port"},
		{"STONE_LISTEN", "8084", "host:port"},
		{"STONE_LISTEN", "127.0.0.1:http", "host:port"},
		{"STONE_ADMIN", "127.0.0.1:70000", "host:port"},
		{"STONE_NEED_GEO", "", "host:port"},
		{"STONE_NEED_GEO", "10.0.0.1:8083,", "host:port"},
		{"STONE_NEED_MEMCACHED_RATE", "memcached-rate", "host:port"},
		{"STONE_NEED_GEO", "file:need-geo", "file:/path"},
		{"STONE_DOCUMENTS", "", "postgres://"},
		{"STONE_DOCUMENTS", "mysql://127.0.0.1:3306", "mongodb://"},
		{"STONE_PROFILE", "quirks", "dsb-quirks"},
		{"STONE_TRACES", "http://desk:4317", "host:port"},
		{"STONE_TRACES", "desk:4317,", "host:port"},
		{"STONE_TRACES_SAMPLE", "1%", "from 0 to 1"},
		{"STONE_TRACES_SAMPLE", "1.01", "from 0 to 1"},
		{"STONE_TRACES_SAMPLE", "NaN", "from 0 to 1"},
		{"STONE_TRACES_INTERVAL", "2", "10ms to 1m"},
		{"STONE_TRACES_INTERVAL", "0s", "10ms to 1m"},
		{"STONE_TRACES_INTERVAL", "2h", "10ms to 1m"},
		{"STONE_LOG_LEVEL", "loud", "debug, info, warn or error"},
		{"STONE_DELAY", "5", "set it to 0 to 1m"},
		{"STONE_DELAY", "2h", "set it to 0 to 1m"},
	} {
		_, err := Load(wants, environment(map[string]string{wrong.variable: wrong.value}))
		var problem *Error
		if !errors.As(err, &problem) {
			t.Errorf("%s=%q: error %v is no *Error", wrong.variable, wrong.value, err)
			continue
		}
		if problem.Variable != wrong.variable || !strings.Contains(err.Error(), wrong.remedy) {
			t.Errorf("%s=%q: %q names another variable or no remedy", wrong.variable, wrong.value, err)
		}
	}
}

func TestParametersOfTasks(t *testing.T) {
	wants := Wants{Tables: true, Data: true, Tasks: []Task{Linpack, Sleep, LargeFile, SmallFile, SmallRounds, Sync, Keep}}
	good := map[string]string{
		"STONE_DATA": "/data", "STONE_TASK_LINPACK": "0", "STONE_TASK_SLEEP": "50us", "STONE_TASK_LARGE_FILE": "2400000",
		"STONE_TASK_SMALL_FILE": "140", "STONE_TASK_SMALL_ROUNDS": "10", "STONE_TASK_SYNC": "false", "STONE_TASK_KEEP": "true",
	}
	got, err := Load(wants, environment(good))
	want := Tasks{Sleep: 50 * time.Microsecond, LargeFile: 2_400_000, SmallFile: 140, SmallRounds: 10, Keep: true}
	if err != nil || got.Tasks != want || got.Data != "/data" {
		t.Error(got, err)
	}
	for variable, values := range map[string][]string{
		"STONE_DATA": {"", "data"}, "STONE_DOCUMENTS": {"", "mongodb://127.0.0.1:27017"},
		"STONE_TASK_LINPACK": {"", "-1", "10001", "20ms"}, "STONE_TASK_SLEEP": {"", "50", "-1us", "2m"},
		"STONE_TASK_LARGE_FILE": {"", "0", "2.4MB"}, "STONE_TASK_SMALL_ROUNDS": {"", "0"}, "STONE_TASK_KEEP": {"", "yes"},
	} {
		for _, value := range values {
			changed := maps.Clone(good)
			changed[variable] = value
			var problem *Error
			if _, err := Load(wants, environment(changed)); !errors.As(err, &problem) || problem.Variable != variable || !strings.Contains(err.Error(), "set it to") {
				t.Errorf("%s=%q: %v", variable, value, err)
			}
		}
	}
}

func TestPasswordIsNotShown(t *testing.T) {
	for _, value := range []string{"mysql://root:hunter2@db:3306/x", "postgres://root:hunter2@[bad/x", "root:hunter2@db"} {
		_, err := Load(wants, environment(map[string]string{"STONE_DOCUMENTS": value}))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("STONE_DOCUMENTS=%s: error %v", value, err)
		}
	}
}

func TestVariableOfANeed(t *testing.T) {
	if got := Variable("memcached-rate"); got != "STONE_NEED_MEMCACHED_RATE" {
		t.Error(got)
	}
}
