package tracetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
)

// update has RoundTrips write what they count: STONE_UPDATE=1 go test ./apps/... -run RoundTrips.
var update = os.Getenv("STONE_UPDATE") != ""

// RoundTrips are, operation by operation, how often the services ask each other and their stores for one request. A file
// holds them beside the published ones; docs/reference/round-trips.md is generated from it.
type RoundTrips struct {
	operations []string
	counts     map[string]map[link]map[string]int // operation -> caller and callee -> what -> how often
}

// link is a caller and its callee.
type link struct{ service, peer string }

// operation is an operation in the file.
type operation struct {
	Operation string `json:"operation"`
	Rows      []row  `json:"rows"`
}

// row is the requests of a service to a peer, such as "2 MGET, 1 find number". Published and Note are written by hand.
type row struct {
	Service   string `json:"service"`
	Peer      string `json:"peer"`
	Published string `json:"published"`
	Default   string `json:"default"`
	Quirks    string `json:"quirks"`
	Note      string `json:"note,omitempty"`
}

// Add counts one request of an operation.
func (r *RoundTrips) Add(operation string, request Branch) {
	if r.counts == nil {
		r.counts = make(map[string]map[link]map[string]int)
	}
	if r.counts[operation] == nil {
		r.operations = append(r.operations, operation)
		r.counts[operation] = make(map[link]map[string]int)
	}
	count(r.counts[operation], request)
}

func count(into map[link]map[string]int, branch Branch) {
	if branch.Kind == otlp.Span_SPAN_KIND_CLIENT {
		between := link{branch.Service, branch.Peer}
		if into[between] == nil {
			into[between] = make(map[string]int)
		}
		into[between][branch.Name[strings.LastIndexByte(branch.Name, '/')+1:]]++
	}
	for _, one := range branch.Within {
		count(into, one)
	}
}

// Compare fails the test unless the file says of these operations, and of no others, what was counted under a profile.
func (r *RoundTrips) Compare(t testing.TB, file, profile string) {
	t.Helper()
	text, err := os.ReadFile(file)
	var held []operation
	if err == nil {
		err = json.Unmarshal(text, &held)
	}
	if err != nil && !update {
		t.Fatal(err)
	}
	quirks := profile != ""
	var missing []string
	merged := make([]operation, len(r.operations))
	for i, name := range r.operations {
		at := slices.IndexFunc(held, func(one operation) bool { return one.Operation == name })
		var rows []row
		if at >= 0 {
			rows = held[at].Rows
		}
		merged[i] = operation{name, merge(rows, r.counts[name], quirks)}
	}
	if update {
		write(t, file, merged)
		return
	}
	was, is := lines(held, quirks), lines(merged, quirks)
	for _, line := range was {
		if !slices.Contains(is, line) {
			missing = append(missing, "- "+line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			missing = append(missing, "+ "+line)
		}
	}
	if len(missing) > 0 {
		t.Errorf("%s says otherwise under profile %q (write what is counted by STONE_UPDATE=1, then its notes and the documentation):\n%s",
			file, profile, strings.Join(missing, "\n"))
	}
}

// merge puts counts into the rows of an operation, and drops rows that nothing says anything in.
func merge(rows []row, counts map[link]map[string]int, quirks bool) []row {
	byLink := make(map[link]row)
	for _, one := range rows {
		byLink[link{one.Service, one.Peer}] = one
	}
	for between := range counts {
		if _, is := byLink[between]; !is {
			byLink[between] = row{Service: between.service, Peer: between.peer}
		}
	}
	var all []row
	for _, between := range slices.SortedFunc(maps.Keys(byLink), func(a, b link) int {
		return strings.Compare(a.service+" "+a.peer, b.service+" "+b.peer)
	}) {
		one := byLink[between]
		if quirks {
			one.Quirks = words(counts[between])
		} else {
			one.Default = words(counts[between])
		}
		if one.Published+one.Default+one.Quirks != "" {
			all = append(all, one)
		}
	}
	return all
}

func words(counts map[string]int) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[what], what))
	}
	return strings.Join(parts, ", ")
}

func lines(of []operation, quirks bool) (all []string) {
	for _, one := range of {
		for _, row := range one.Rows {
			parts := row.Default
			if quirks {
				parts = row.Quirks
			}
			all = append(all, fmt.Sprintf("%s: %s > %s: %s", one.Operation, row.Service, row.Peer, parts))
		}
	}
	return all
}

func write(t testing.TB, file string, operations []operation) {
	t.Helper()
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(operations)
	if err == nil {
		err = os.WriteFile(file, []byte(text.String()), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
