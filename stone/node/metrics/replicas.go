package metrics

import (
	"encoding/json"
	"fmt"
	"os"

	"loadstone.dev/stone/node/counters"
)

// ReadReplicas reads the file that names replicas: {"geo-1": {"container": "ID"}, "rate-1": {"group": "loadstone/..."}}.
// It is read for each scrape, so it may change.
func ReadReplicas(file string) (map[string]counters.Subject, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	replicas := map[string]counters.Subject{}
	if err := json.Unmarshal(text, &replicas); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := counters.ReplicasProblem(replicas); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return replicas, nil
}
