package counters

import (
	"os"
	"strings"
	"testing"
)

func TestWhatCannotBeRecorded(t *testing.T) {
	of := func(name string, subject Subject) Wanted {
		return Wanted{PeriodMS: 10, Replicas: map[string]Subject{name: subject}}
	}
	many := Wanted{PeriodMS: 10, Replicas: map[string]Subject{}}
	for i := range mostReplicas + 1 {
		many.Replicas[strings.Repeat("a", i)] = Subject{}
	}
	for want, wanted := range map[string]Wanted{
		"period_ms is 0: give 10 to 60000":                                                                             {},
		"period_ms is 9: give 10 to 60000":                                                                             {PeriodMS: 9},
		"period_ms is 60001: give 10 to 60000":                                                                         {PeriodMS: 60_001},
		"period_ms is 18446744073720: give 10 to 60000":                                                                {PeriodMS: 18446744073720}, // 448 ms, in nanoseconds of 64 bits
		`"" is no name of a replica: give letters, digits and ._/:-`:                                                   of("", Subject{Group: "loadstone/x"}),
		`"a b" is no name of a replica: give letters, digits and ._/:-`:                                                of("a b", Subject{Group: "loadstone/x"}),
		`replica a: give either its "container" or its "group"`:                                                        of("a", Subject{}),
		"1001 replicas at once: record at most 1000":                                                                   many,
		`replica a: "loadstone/../../etc" is no group that may be read: give a path like loadstone/DEPLOYMENT/REPLICA`: of("a", Subject{Group: "loadstone/../../etc"}),
	} {
		if err := wanted.Problem(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Every metric is in the reference.
func TestTheReferenceIsWhole(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/agent.md")
	if err != nil {
		t.Skip(err) // the module alone, as in an image
	}
	for metric := range Metrics {
		if !strings.Contains(string(page), "`"+metric+"`") {
			t.Errorf("%s is missing", metric)
		}
	}
}
