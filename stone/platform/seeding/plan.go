package seeding

import (
	"bytes"
	"encoding/json"
	"errors"
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

// storeOf returns each service's store address, and complains of a store too many or too few.
func (p Plan) storeOf(collections []Collection) (map[string]string, error) {
	wanted := map[string]bool{}
	for _, collection := range collections {
		wanted[collection.Service] = true
	}
	var complaints []error
	stores := map[string]string{}
	for name, address := range p.Stores {
		_, service, _ := strings.Cut(name, "-")
		if !wanted[service] {
			complaints = append(complaints, fmt.Errorf("stores: %q is no store of this application", name))
		}
		stores[service] = address
	}
	for service := range wanted {
		if stores[service] == "" {
			complaints = append(complaints, fmt.Errorf(`stores: no address for "documents-%s"`, service))
		}
	}
	return stores, errors.Join(complaints...)
}
