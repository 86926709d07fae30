package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loadstone.dev/stone/load/schedule"
)

// Identity is what the workers of one run have in common: the plan, the contents of the files that it names, and the
// schedule that this stone makes of it.
type Identity struct {
	Plan     json.RawMessage      `json:"plan"`     // as given
	Files    map[string]string    `json:"files"`    // SHA-256 by path
	Arrivals schedule.ArrivalSpan `json:"arrivals"` // arrivals of all workers together
}

// ownKeys are the keys of a plan that each worker may have its own value of.
var ownKeys = []string{"part", "start_unix_ns", "cpus", "metrics", "wait", "source_addresses"}

// Differs says what is not the same in the identity of another worker; "" if all is.
func (id *Identity) Differs(other *Identity) (string, error) {
	keys, err := differentKeys(id.Plan, other.Plan)
	if err != nil || len(keys) > 0 {
		return fmt.Sprintf("their plans differ in %s", strings.Join(keys, ", ")), err
	}
	for _, files := range []map[string]string{id.Files, other.Files} {
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if id.Files[path] != other.Files[path] {
				return fmt.Sprintf("%s is not the same file for both; copy it", path), nil
			}
		}
	}
	a, b := id.Arrivals, other.Arrivals
	const rounding = 1000 // ns: processors of different kinds round differently
	if a.Count != b.Count || max(a.FirstNs-b.FirstNs, b.FirstNs-a.FirstNs, a.LastNs-b.LastNs, b.LastNs-a.LastNs) > rounding {
		return fmt.Sprintf("their schedules differ (%d arrivals and %d) though their plans are equal; use one version of stone",
			a.Count, b.Count), nil
	}
	return "", nil
}

// differentKeys are the keys of two plans with different values, apart from each worker's own.
func differentKeys(a, b json.RawMessage) ([]string, error) {
	var first, second map[string]json.RawMessage
	if err := json.Unmarshal(a, &first); err != nil {
		return nil, fmt.Errorf("the plan: %w", err)
	}
	if err := json.Unmarshal(b, &second); err != nil {
		return nil, fmt.Errorf("the plan: %w", err)
	}
	different := map[string]bool{}
	for key := range first {
		different[key] = !equalJSON(first[key], second[key])
	}
	for key := range second {
		different[key] = !equalJSON(first[key], second[key])
	}
	for _, key := range ownKeys {
		delete(different, key)
	}
	maps.DeleteFunc(different, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(different)), nil
}

// equalJSON says whether two texts hold the same value, in whatever spelling.
func equalJSON(a, b json.RawMessage) bool {
	normal := func(text json.RawMessage) []byte {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber() // seeds do not fit a float
		var value any
		if decoder.Decode(&value) != nil {
			return nil
		}
		out, _ := json.Marshal(value)
		return out
	}
	return bytes.Equal(normal(a), normal(b))
}

// common is the plan without what is each worker's own.
func common(plan json.RawMessage) (json.RawMessage, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(plan, &keys); err != nil {
		return nil, fmt.Errorf("the plan: %w", err)
	}
	delete(keys, "part")
	delete(keys, "start_unix_ns")
	delete(keys, "members")
	return json.Marshal(keys)
}
