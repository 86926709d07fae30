package config

import (
	"strconv"
	"strings"
	"time"
)

const (
	leastInterval, mostInterval = 10 * time.Millisecond, time.Minute
	defaultInterval             = 2 * time.Second // to wake up for a few spans costs more than to make them
)

// Traces says where a service sends its spans.
type Traces struct {
	Collectors []string      // STONE_TRACES: host:port of each that takes OTLP over gRPC, comma separated; none: nothing is traced
	Sample     float64       // STONE_TRACES_SAMPLE: share of the requests that begin here which are traced, 0 to 1
	Interval   time.Duration // STONE_TRACES_INTERVAL: the longest time that a span waits to be sent
	Replica    string        // STONE_REPLICA: what the deployer calls this process; empty: not set
}

func loadTraces(getenv func(string) string) (Traces, error) {
	traces := Traces{Sample: 1, Interval: defaultInterval, Replica: getenv("STONE_REPLICA")}
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
	if text := getenv("STONE_TRACES_INTERVAL"); text != "" {
		interval, err := time.ParseDuration(text)
		if err != nil || interval < leastInterval || interval > mostInterval {
			return traces, &Error{"STONE_TRACES_INTERVAL", text, "no interval", "set it to 10ms to 1m, for example 500ms"}
		}
		traces.Interval = interval
	}
	return traces, nil
}
