package seeding

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Plan says where an application's stores and caches are.
type Plan struct {
	// Stores has a document store's address by the name of its service in the application file,
	// e.g. "documents-geo": what follows the first "-" is the service whose store it is.
	Stores map[string]string `json:"stores"`
	// Caches has memcached addresses, "host:port[,host:port...]", by name.
	Caches map[string]string `json:"caches"`
	// Profile is the application's profile; empty is the default one.
	Profile string `json:"profile"`
}

// ReadPlan reads a plan from a JSON file; unknown keys are errors.
func ReadPlan(file string) (Plan, error) {
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

// storeOf returns each service's store address, and complains of stores too many or too few.
func (p Plan) storeOf(collections []Collection) (map[string]string, error) {
	stores := map[string]string{}
	for name, address := range p.Stores {
		_, service, _ := strings.Cut(name, "-")
		stores[service] = address
	}
	var missing []string
	wanted := map[string]bool{}
	for _, collection := range collections {
		if service := collection.Service; !wanted[service] && stores[service] == "" {
			missing = append(missing, "documents-"+service)
		}
		wanted[collection.Service] = true
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("stores: no address for %s", strings.Join(missing, ", "))
	}
	for name := range p.Stores {
		if _, service, _ := strings.Cut(name, "-"); !wanted[service] {
			return nil, fmt.Errorf("stores: %q is no store of this application", name)
		}
	}
	return stores, nil
}
