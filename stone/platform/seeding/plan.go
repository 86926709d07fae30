package seeding

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Plan says where an application's stores and caches are, and what they are to hold.
type Plan struct {
	// Stores has a document store's address by the name of its service in the application file,
	// e.g. "documents-geo" or "postgres-order": what follows the first "-" is the service whose store it is.
	Stores map[string]string `json:"stores"`
	// Redis has the address ("host:port") of each Redis by name.
	Redis map[string]string `json:"redis"`
	// Caches has memcached addresses, "host:port[,host:port...]", by name.
	Caches map[string]string `json:"caches"`
	// CouchDB has the address ("host:port") of each CouchDB by name.
	CouchDB map[string]string `json:"couchdb"`
	// Profile is the application's profile; empty is the default one.
	Profile string `json:"profile"`
	// Dataset says what the stores are to hold; its keys are the application's.
	Dataset json.RawMessage `json:"dataset"`
	// Entry has the addresses ("host:port") of the running application's front end; empty if it does not run.
	Entry []string `json:"entry"`
	// Unfinished is how many writes were sent and not answered since the stores were filled: they may be there in part.
	Unfinished int `json:"unfinished"`
	// Password is that of all stores; empty where they have none.
	Password string `json:"password"`
	// WaitS is how many seconds stores are waited for that do not answer yet; 0: half a minute.
	WaitS float64 `json:"wait_s"`
	// Progress receives the progress, in lines of JSON (Progress); nil: not reported.
	Progress io.Writer `json:"-"`
}

// ReadPlan reads a plan from a JSON file, "-" being standard input; unknown keys are errors.
func ReadPlan(file string) (Plan, error) {
	if file == "-" {
		file = os.Stdin.Name()
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return Plan{}, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var plan Plan
	if err := decoder.Decode(&plan); err != nil {
		line := 1 + bytes.Count(text[:min(decoder.InputOffset(), int64(len(text)))], []byte{'\n'})
		return Plan{}, fmt.Errorf("%s:%d: %w", file, line, err)
	}
	return plan, nil
}

func (p Plan) wait() time.Duration {
	if p.WaitS > 0 {
		return time.Duration(p.WaitS * float64(time.Second))
	}
	return usualWait
}

// DatasetInto reads the dataset into a pointer to a struct; keys that it does not have are errors.
func (p Plan) DatasetInto(into any) error {
	if len(p.Dataset) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(p.Dataset))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("dataset: %w", err)
	}
	return nil
}

// storeOf returns each service's store address, and complains of stores too many or too few.
func (p Plan) storeOf(keeps Stores) (map[string]string, error) {
	stores := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(p.Stores)) {
		_, service, _ := strings.Cut(name, "-")
		if !slices.Contains(keeps.Services, service) && !slices.Contains(keeps.Tables, service) {
			return nil, fmt.Errorf("stores: %q is no store of this application", name)
		}
		stores[service] = p.Stores[name]
	}
	var missing []string
	for kind, services := range map[string][]string{"documents-": keeps.Services, "postgres-": keeps.Tables} {
		for _, service := range services {
			if stores[service] == "" {
				missing = append(missing, kind+service)
			}
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("stores: no address for %s", strings.Join(missing, ", "))
	}
	return stores, nil
}

// hasRedis complains of a Redis that is needed and has no address.
func (p Plan) hasRedis(names []string) error {
	for _, name := range names {
		if p.Redis[name] == "" {
			return fmt.Errorf("redis: no address for %s", name)
		}
	}
	return nil
}
