package load

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/result"
)

// checkLog reads latency.hlog back: its intervals together must be the summary's distributions.
func checkLog(t *testing.T, dir string, s *result.Summary) {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, "latency.hlog"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, sums := hdr.NewHistogramLogReader(file), map[string]*hdr.Histogram{}
	for {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		if sums[h.Tag()] == nil {
			sums[h.Tag()] = result.NewHistogram()
		}
		if sums[h.Tag()].Merge(h) > 0 {
			t.Errorf("%s: values were dropped", h.Tag())
		}
		if h.EndTimeMs() < h.StartTimeMs() || h.EndTimeMs()-h.StartTimeMs() > 60_000 {
			t.Errorf("%s: interval from %d to %d", h.Tag(), h.StartTimeMs(), h.EndTimeMs())
		}
	}
	compare := func(tag string, want result.Latency) {
		t.Helper()
		h := sums[tag]
		if h == nil {
			h = result.NewHistogram()
		}
		p99 := result.InMs(h, 99)[0]
		if h.TotalCount() != want.Count || math.Abs(p99-want.P99) > 0.002*want.P99 {
			t.Errorf("%s in the log: %d values, p99 %g; summary: %d, %g", tag, h.TotalCount(), p99, want.Count, want.P99)
		}
	}
	compare(result.WholeTag, s.LatencyMs["intended"])
	compare("service", s.LatencyMs["service"])
	compare("lateness", s.LatencyMs["lateness"])
	for _, op := range s.Operations {
		compare(result.IntendedTag(op.Name), op.LatencyMs["intended"])
	}
	for tag := range sums {
		if tag != result.WholeTag && tag != "service" && tag != "lateness" && !strings.HasPrefix(tag, "intended:") {
			t.Errorf("unexpected tag %q", tag)
		}
	}
}
