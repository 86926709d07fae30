package load

import (
	"bytes"
	"encoding/json"
	"math"
	"net"
	"testing"

	"loadstone.dev/stone/load/result"
)

// Lines of several workers are one line, as if one worker had done all; so they are after a journey as JSON.
func TestProgressOfSeveralWorkers(t *testing.T) {
	line := func(at float64, phase string, count int64, ms ...int64) result.Progress {
		h := result.NewHistogram()
		for _, value := range ms {
			result.Record(h, value*1e6, 1)
		}
		p := result.Progress{T: at, Of: 10, Phase: phase, Offered: 4 * count, Sent: 3 * count, Completed: 2 * count, Errors: count, InFlight: count,
			CPUShare: float64(count) / 10, Latency: &result.Histogram{Histogram: h}, Lateness: &result.Histogram{Histogram: h}}
		text, err := json.Marshal(p)
		var read result.Progress
		if err != nil || json.Unmarshal(text, &read) != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return read
	}
	p := result.MergeProgress([]result.Progress{line(3, "measure", 1, 1, 2, 3), line(3.1, "drain", 2, 4, 5, 600)})
	if p.T != 3.1 || p.Of != 10 || p.Phase != "drain" || p.Offered != 12 || p.Sent != 9 || p.Completed != 6 || p.Errors != 3 || p.InFlight != 3 ||
		p.CPUShare != 0.2 || p.Latency != nil || p.Lateness != nil {
		t.Errorf("%+v", p)
	}
	if *p.P50 < 2.99 || *p.P50 > 3.01 || *p.P99 < 599 || *p.P99 > 601 || *p.LatenessP99 != *p.P99 {
		t.Errorf("P50 %v, P99 %v, lateness %v", *p.P50, *p.P99, *p.LatenessP99)
	}
	ended := line(9, "drain", 5)
	ended.Latency, ended.Lateness = nil, nil
	if p := result.MergeProgress([]result.Progress{ended}); p.P50 != nil || p.P99 != nil || p.LatenessP99 != nil || p.Sent != 15 {
		t.Errorf("of nothing: %+v", p)
	}
}

// Both ends of the window are reported when they come, even while answers are awaited for long.
func TestLinesOfProgressAtTheWindowsEnds(t *testing.T) {
	t.Parallel()
	s := serve(t, func(net.Conn, string, int) bool { return true }) // never answers
	for warmup, ends := range map[float64][2]float64{0.2: {0.2, 1.3}, 0: {0, 1.1}} {
		plan := s.plan(t, map[string]any{"warmup_s": warmup, "duration_s": 1.1, "timeout_s": 60, "drain_s": 2})
		var lines bytes.Buffer
		if _, err := Run(t.Context(), plan, t.TempDir(), &lines); err != nil {
			t.Fatal(err)
		}
		for _, end := range ends {
			late := math.Inf(1)
			for decoder := json.NewDecoder(bytes.NewReader(lines.Bytes())); decoder.More(); {
				var p result.Progress
				if err := decoder.Decode(&p); err != nil {
					t.Fatal(err)
				}
				if p.T >= end {
					late = min(late, p.T-end)
				}
			}
			if late > 0.7 { // nearly at once; a second later without a line of its own
				t.Errorf("warm-up of %g s: the first line after %g s is %g s late:\n%s", warmup, end, late, lines.String())
			}
		}
	}
}
