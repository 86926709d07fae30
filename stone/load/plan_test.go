package load

import (
	"errors"
	"strings"
	"testing"

	"loadstone.dev/stone/load/mistake"
)

const minimal = `{"target":"http://127.0.0.1:1","arrival":{"process":"constant","rate":100},"duration_s":1,
	"operations":[{"name":"home","path":"/"}]}`

func parse(t *testing.T, text string) *Plan {
	t.Helper()
	plan, err := ParsePlan([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return plan
}

func TestDefaults(t *testing.T) {
	plan := parse(t, minimal)
	if plan.Connections != 64 || plan.Threads != 1 || plan.TimeoutS != 5 || plan.DrainS != 5 || plan.Wait != "auto" {
		t.Errorf("defaults: %+v", plan)
	}
	if op := plan.Operations[0]; op.Method != "GET" || *op.Weight != 1 {
		t.Errorf("defaults of an operation: %+v", op)
	}
}

func TestMistakesNameTheKey(t *testing.T) {
	change := func(old, new string) string {
		if !strings.Contains(minimal, old) {
			t.Fatalf("the plan has no %s", old)
		}
		return strings.Replace(minimal, old, new, 1)
	}
	field := func(field string) string {
		return change(`"path":"/"`, `"path":"/{f}","fields":{"d":{"kind":"date","from":"2020-01-01","to":"2020-01-09"},"f":`+field+`}`)
	}
	for _, c := range []struct{ plan, key, says string }{
		{change(`"duration_s"`, `"duraton_s"`), "duraton_s", "no such key"},
		{change(`"rate":100`, `"rate":100,"rat":1`), "rat", "no such key"},
		{change(`"path":"/"`, `"path":"/","bdy":""`), "bdy", "no such key"},
		{change(`"rate":100`, `"rate":-5`), "arrival.rate", "more than 0"},
		{change(`"rate":100`, `"rate":0`), "arrival.rate", "more than 0"},
		{change(`"rate":100`, `"rate":"fast"`), "arrival.rate", "float64"},
		{change(`"constant"`, `"exp"`), "arrival.process", "poisson"},
		{change(`"duration_s":1`, `"duration_s":-1`), "duration_s", "more than 0"},
		{change(`"duration_s":1`, `"duration_s":1,"drain_s":-1`), "drain_s", "at least 0"},
		{change(`"duration_s":1`, `"duration_s":1,"connections":0`), "connections", "at least 1"},
		{change(`"duration_s":1`, `"duration_s":1,"connections":2,"threads":3`), "connections", "threads"},
		{change(`"duration_s":1`, `"duration_s":1,"wait":"doze"`), "wait", "precise"},
		{change(`"duration_s":1`, `"duration_s":1,"cpus":[-1]`), "cpus[0]", "CPU"},
		{change(`"duration_s":1`, `"duration_s":1,"replicas":["http://a:1"]`), "replicas[0]", "host:port"},
		{change(`"duration_s":1`, `"duration_s":1,"seed":-1`), "seed", "uint64"},
		{change(`"duration_s":1`, `"duration_s":1,"abort":true`), "abort", "slo"},
		{change(`"duration_s":1`, `"duration_s":1,"wrk2_layout":"new"`), "wrk2_layout", "before-2023"},
		{change(`"duration_s":1`, `"duration_s":1,"slo":{"percentile":100,"latency_ms":1}`), "slo.percentile", "less than 100"},
		{change(`"duration_s":1`, `"duration_s":1,"slo":{"percentile":99,"latency_ms":6000}`), "slo.latency_ms", "timeout"},
		{change(`http://`, `ftp://`), "target", "http://"},
		{change(`127.0.0.1:1`, `127.0.0.1:1/path`), "target", "operations"},
		{change(`[{"name":"home","path":"/"}]`, `[]`), "operations", "at least one"},
		{change(`"home"`, `"a,b"`), "operations[0].name", "letters"},
		{change(`"path":"/"}`, `"path":"/"},{"name":"home","path":"/x"}`), "operations[1].name", "twice"},
		{change(`"path":"/"`, `"path":"x"`), "operations[0].path", "begin with /"},
		{change(`"path":"/"`, `"path":"/","weight":-1`), "operations[0].weight", "range"},
		{change(`"path":"/"`, `"path":"/","weight":0`), "operations", "weights"},
		{change(`"path":"/"`, `"path":"/{lat}"`), "operations[0].path", "{lat}"},
		{change(`"path":"/"`, `"path":"/","headers":{"Content-Length":"3"}`), "operations[0].headers", "body"},
		{change(`"path":"/"`, `"path":"/","headers":{"A":"b\r\nC: d"}`), "operations[0].headers", "header"},
		{field(`{"kind":"float"}`), "operations[0].fields.f.kind", "decimal"},
		{field(`{"kind":"integer","min":1,"max":0}`), "operations[0].fields.f.max", "less than"},
		{field(`{"kind":"integer","min":1,"max":2,"step":1}`), "operations[0].fields.f.step", "integer"},
		{field(`{"kind":"integer","min":1}`), "operations[0].fields.f.max", "number"},
		{field(`{"kind":"decimal","min":1,"max":2,"step":0}`), "operations[0].fields.f.step", "above 0"},
		{field(`{"kind":"choice","values":[]}`), "operations[0].fields.f.values", "at least one"},
		{field(`{"kind":"choice","values":["a"],"weights":[1,2]}`), "operations[0].fields.f.weights", "1 values"},
		{field(`{"kind":"date","from":"2020-1-1","to":"2020-01-02"}`), "operations[0].fields.f.from", "YYYY"},
		{field(`{"kind":"date","from":"2020-01-03","to":"2020-01-02"}`), "operations[0].fields.f.to", "before"},
		{field(`{"kind":"date","after":"d","to":"2020-01-09"}`), "operations[0].fields.f.to", "latest d"},
		{field(`{"kind":"date","after":"f","to":"2020-01-09"}`), "operations[0].fields.f.after", "not a date field"},
		{field(`{"kind":"date","after":"d"}`), "operations[0].fields.f", "max_days"},
		{minimal + "{}", "", "closing brace"},
		{"{\n\n\"target\" 3}", "line 3", "not JSON"},
	} {
		_, err := ParsePlan([]byte(c.plan))
		var mistake *mistake.Error
		if !errors.As(err, &mistake) || mistake.Key != c.key || !strings.Contains(mistake.Problem, c.says) {
			t.Errorf("got %q, want key %q and %q, for %s", err, c.key, c.says, c.plan)
		}
	}
}
