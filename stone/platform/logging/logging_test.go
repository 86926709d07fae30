package logging

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
)

func TestLinesAreJSONAndNameTheService(t *testing.T) {
	var out bytes.Buffer
	log := New(&out, slog.LevelInfo, "hotel/geo")
	log.Debug("unseen")
	log.Info("loaded", "documents", 80)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v in %q", err, out.String())
	}
	if line["service"] != "hotel/geo" || line["msg"] != "loaded" || line["documents"] != 80.0 {
		t.Errorf("got %v", line)
	}
}

func TestLimitedLogsABurstOnceAndCountsTheRest(t *testing.T) {
	var out bytes.Buffer
	limited := NewLimited(New(&out, slog.LevelInfo, "x"))
	for range 1000 {
		limited.Warn("cache down")
	}
	if lines := strings.Count(out.String(), "\n"); lines == 0 || lines > 100 {
		t.Fatalf("a burst of 1000 made %d lines", lines)
	}
	limited.last = limited.last.Add(-2e9) // two seconds pass
	before := limited.suppressed
	out.Reset()
	limited.Warn("cache down")
	var line struct{ Suppressed int }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Suppressed != before || before == 0 {
		t.Errorf("line %q, %d were suppressed, error %v", out.String(), before, err)
	}
}
