package config

import "strconv"

// Traces says where a service sends its spans.
type Traces struct {
	Collector string  // STONE_TRACES: host:port that takes OTLP over gRPC; empty: nothing is traced
	Sample    float64 // STONE_TRACES_SAMPLE: share of the requests that begin here which are traced, 0 to 1
	Replica   string  // STONE_REPLICA: what the deployer calls this process; empty: not set
}

func loadTraces(getenv func(string) string) (Traces, error) {
	traces := Traces{Collector: getenv("STONE_TRACES"), Sample: 1, Replica: getenv("STONE_REPLICA")}
	if traces.Collector != "" {
		if err := checkAddress("STONE_TRACES", traces.Collector); err != nil {
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
