package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"loadstone.dev/stone/load"
	"loadstone.dev/stone/load/export"
)

// Load workers send together exactly the requests of a counted loop, its iterations are whole, and the window is marked
// once, from the first worker's first request to the last worker's last answer.
func TestCountedLoopOfSeveralWorkers(t *testing.T) {
	t.Parallel()
	for _, count := range []int{2, 3} {
		s, out := serveTarget(t, nil), filepath.Join(t.TempDir(), "out")
		closed := map[string]any{"clients": 7, "requests": 9, "iterations": 4, "pace": 2000}
		text := s.text(t, map[string]any{"arrival": nil, "threads": 2, "duration_s": 600, "warmup_s": 0, "closed": closed})
		var watched bytes.Buffer
		ctx := context.Background()
		summary, err := run(ctx, text, crewOf(count), nil, out, &watched, inProcess(ctx))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(s.requests()); got != 7*9*4 || summary.Planned != 7*9*4 || summary.Counts.Sent != 7*9*4 {
			t.Errorf("%d workers: %d came; planned %d: %+v", count, got, summary.Planned, summary.Counts)
		}
		if summary.Iterations == nil || summary.Iterations.Count != 7*4 || summary.SlotsMissed == nil || summary.WindowS > 300 {
			t.Errorf("%+v, %v slots missed, %g s", summary.Iterations, summary.SlotsMissed, summary.WindowS)
		}
		rows, err := parquet.ReadFile[export.Iteration](filepath.Join(out, "iterations.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows { // sorted, each once
			if row.Client != int32(i/4+1) || row.Iteration != int32(i%4+1) || row.Requests != 9 || row.StartS < 0 || row.DurationS <= 0 {
				t.Errorf("row %d: %+v", i, row)
			}
		}
		var edges []string
		for decoder := json.NewDecoder(&watched); decoder.More(); {
			var mark load.WindowMark
			if err := decoder.Decode(&mark); err != nil {
				t.Fatal(err)
			}
			if mark.Window != "" {
				edges = append(edges, mark.Window)
			}
		}
		if !slices.Equal(edges, []string{"begin", "end"}) {
			t.Errorf("edges %v", edges)
		}
	}
}
