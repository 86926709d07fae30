package load

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

type recorded struct {
	N         uint64 `parquet:"n"`
	Operation string `parquet:"operation"`
	Scheduled int64  `parquet:"scheduled_ns"`
	Sent      *int64 `parquet:"sent_ns,optional"`
	Ended     *int64 `parquet:"ended_ns,optional"`
	Outcome   string `parquet:"outcome"`
}

// Every offered request is a row of requests.parquet, with the outcome that the summary counts.
func TestRequestRecords(t *testing.T) {
	t.Parallel()
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		if path == "/bad" {
			return raw("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", true)(conn, path, n)
		}
		return path == "/hang" || ok(conn, path, n)
	})
	summary, dir := drive(t, s.plan(t, map[string]any{"threads": 2, "connections": 12, "arrival": rate("constant", 200), "duration_s": 1,
		"timeout_s": 60, "drain_s": 0.2, "record_requests": true,
		"operations": json.RawMessage(`[{"name":"good","path":"/good","weight":3},{"name":"bad","path":"/bad"},{"name":"hang","path":"/hang"},
			{"name":"visit","steps":[{"name":"a","path":"/bad"},{"name":"b","path":"/good"}]}]`)}))
	rows, err := parquet.ReadFile[recorded](filepath.Join(dir, "requests.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	outcomes, last := map[string]int64{}, map[uint64]int{}
	for _, row := range rows {
		outcomes[row.Outcome]++
		last[row.N]++
		wasSent, ended := row.Outcome != "unsent" && row.Outcome != "skipped", row.Outcome != "unsent" && row.Outcome != "skipped" && row.Outcome != "in_flight"
		if (row.Sent != nil) != wasSent || (row.Ended != nil) != ended || wasSent && *row.Sent < row.Scheduled {
			t.Fatalf("%+v", row)
		}
	}
	c := summary.Counts
	want := map[string]int64{"completed": c.Completed, "error": c.Errors - c.Skipped, "skipped": c.Skipped, "in_flight": c.InFlight, "unsent": c.Unsent}
	for outcome, count := range want {
		if outcomes[outcome] != count || count == 0 {
			t.Errorf("%s: %d rows, %d counted", outcome, outcomes[outcome], count)
		}
	}
	if int64(len(rows)) != c.Offered || *summary.Generator.RequestsLost != 0 {
		t.Errorf("%d rows for %d requests", len(rows), c.Offered)
	}
}

// The text formats say what the summary says, and nothing is left half written.
func TestTextFormats(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	summary, dir := drive(t, s.plan(t, map[string]any{"duration_s": 1.5}))
	text, err := os.ReadFile(filepath.Join(dir, "wrk2.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("  %d requests in 1.50s", summary.CompletedInWindow); !strings.Contains(string(text), want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	spectrum, err := os.ReadFile(filepath.Join(dir, "latency.hgrm"))
	if want := fmt.Sprintf("Total count    = %12d]", summary.Counts.Offered); err != nil || !strings.Contains(string(spectrum), want) {
		t.Errorf("%v: no %q in\n%s", err, want, spectrum)
	}
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".part") || entry.Name() == "requests.parquet" {
			t.Errorf("%s is there", entry.Name())
		}
	}
}

// Answers that come after the window are not among its requests, whatever their status.
func TestTextOfLateAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, func(conn net.Conn, _ string, _ int) bool {
		time.Sleep(700 * time.Millisecond) // longer than the window
		return raw("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", true)(conn, "", 0)
	})
	_, dir := drive(t, s.plan(t, map[string]any{"arrival": rate("constant", 20), "connections": 10, "drain_s": 60}))
	text, err := os.ReadFile(filepath.Join(dir, "wrk2.txt"))
	for _, want := range []string{"  0 requests in 500.00ms", "responses: 10\n", "Requests/sec:      0.00"} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v: no %q in\n%s", err, want, text)
		}
	}
}

// A request without a good answer has no latency: how many have one is in every file that has latencies, and where none
// does, the texts have no latency at all.
func TestFilesTellAnswersFromLowerBounds(t *testing.T) {
	t.Parallel()
	busy := raw("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", true)
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		if n%2 == 1 {
			return busy(conn, path, n)
		}
		return ok(conn, path, n)
	})
	summary, dir := drive(t, s.plan(t, map[string]any{"timeout_s": 100}))
	c, l := summary.Counts, summary.LatencyMs["intended"]
	if l.Count != c.Offered || l.Answered != c.Completed+c.Late || c.Errors == 0 || l.Answered == 0 {
		t.Errorf("%+v of %+v", l, c)
	}
	// The mean is that of the answers, the maximum the least that is known of a failure: its timeout.
	if l.Mean >= 50e3 || l.Max < 100e3 || summary.Operations[0].LatencyMs["intended"] != l {
		t.Errorf("%+v, of its operation %+v", l, summary.Operations[0].LatencyMs)
	}
	spectrum, err := os.ReadFile(filepath.Join(dir, "latency.hgrm"))
	if want := fmt.Sprintf("#[Answered = %d of %d;", l.Answered, l.Count); err != nil || !strings.Contains(string(spectrum), want) {
		t.Errorf("%v: no %q in\n%s", err, want, spectrum)
	}
	_, dir = drive(t, serve(t, busy).plan(t, nil))
	for file, want := range map[string]string{"latency.hgrm": "Total count    =            0]", "wrk2.txt": " 50.000%    0.00us"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%v: no %q in\n%s", err, want, text)
		}
	}
}

// While a run goes on, Prometheus can ask for its metrics.
func TestMetricsWhileRunning(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	var page string
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		if n == 150 { // the metrics are those of the last whole second, and this comes after that
			answer, err := http.Get("http://" + address + "/metrics")
			if err == nil {
				text, _ := io.ReadAll(answer.Body)
				page = string(text)
				_ = answer.Body.Close()
			}
		}
		return ok(conn, path, n)
	})
	drive(t, s.plan(t, map[string]any{"metrics": address, "arrival": rate("constant", 100), "duration_s": 2.5, "connections": 1}))
	for _, want := range []string{"stone_load_offered_total 1", "stone_load_completed_total", `stone_load_latency_seconds_bucket{operation="home"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %q", want, page)
		}
	}
	if _, err := http.Get("http://" + address + "/metrics"); err == nil {
		t.Error("the metrics are still served")
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
