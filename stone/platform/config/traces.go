package config

import (
	"strconv"
	"strings"
)

// Traces says where a service sends its spans.
type Traces struct {
	Collectors []string // STONE_TRACES: host:port of each that takes OTLP over gRPC, comma separated; none: nothing is traced
	Sample     float64  // STONE_TRACES_SAMPLE: share of the requests that begin here which are traced, 0 to 1
	Replica    string   // STONE_REPLICA: what the deployer calls this process; empty: not set
}

func loadTraces(getenv func(string) string) (Traces, error) {
	traces := Traces{Sample: 1, Replica: getenv("STONE_REPLICA")}
	if addresses := getenv("STONE_TRACES"); addresses != "" {
		traces.Collectors = strings.Split(addresses, ",")
	}
	for _, address := range traces.Collectors {
		if err := checkAddress("STONE_TRACES", address); err != nil {
			return traces, err
		}
	}
	if share := getenv("STONE_TRACES_SAMPLE"); share != "" {
		number, err := strconv.ParseFloat(share, 64)
		if err != nil || !(number >= 0 && number <= 1) { // the latter also of NaN
			return traces, &Error{"STONE_TRACES_SAMPLE", share, "not a share of requests", "set it to a number from 0 to 1, such as 0.01"}
		}
		traces.Sample = number
	}
	return traces, nil
}
