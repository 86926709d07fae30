package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/result"
)

// numberedOperations: each request's path has its number, and some are sessions.
const numberedOperations = `[{"name":"get","weight":3,"path":"/get/{n}","fields":{"n":{"kind":"sequence"}}},
	{"name":"visit","steps":[{"name":"a","path":"/a/{n}","fields":{"n":{"kind":"sequence"}}},{"name":"b","path":"/b"}]}]`

// share makes the plan of one of several workers.
func (s *server) share(t *testing.T, keys map[string]any, number, of int) *Plan {
	t.Helper()
	all := map[string]any{"part": result.Part{Number: number, Of: of}, "operations": json.RawMessage(numberedOperations), "connections": 12}
	for key, value := range keys {
		all[key] = value
	}
	return s.plan(t, all)
}

// together runs all parts of a plan at the same time, as a coordinator would, and returns their folders.
func together(t *testing.T, of int, plan func(number int) *Plan) []string {
	t.Helper()
	var ready, done sync.WaitGroup
	ready.Add(of)
	begin := sync.OnceValue(func() time.Time { ready.Wait(); return time.Now() })
	folders, failed := make([]string, of), make([]error, of)
	for number := range of {
		folders[number] = filepath.Join(t.TempDir(), fmt.Sprint(number))
		conductor := &Conductor{Ready: func(result.Identity, int64) (time.Time, error) { ready.Done(); return begin(), nil }}
		done.Go(func() {
			_, failed[number] = RunPart(context.Background(), plan(number), folders[number], nil, conductor)
		})
	}
	done.Wait()
	for number, err := range failed {
		if err != nil {
			t.Fatalf("part %d: %v", number, err)
		}
	}
	return folders
}

func readSummary(t *testing.T, folder string) *result.Summary {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, result.SummaryFile))
	var s result.Summary
	if err != nil || json.Unmarshal(text, &s) != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return &s
}

func sorted(paths []string) []string {
	slices.Sort(paths)
	return paths
}

// However many workers share a plan, the server sees the same requests, and the sums are exact.
func TestPartsTogetherAreTheWhole(t *testing.T) {
	t.Parallel()
	keys := map[string]any{"duration_s": 1.5, "warmup_s": 0.5, "threads": 2, "slo": map[string]any{"percentile": 99, "latency_ms": 19000}}
	single := serve(t, ok)
	whole, _ := drive(t, single.share(t, keys, 0, 1))
	want := sorted(single.seen())
	for _, of := range []int{2, 3} {
		s := serve(t, ok)
		folders := together(t, of, func(number int) *Plan { return s.share(t, keys, number, of) })
		if got := sorted(s.seen()); !slices.Equal(got, want) {
			t.Errorf("%d parts sent %d requests, one worker sends %d; they are not the same", of, len(got), len(want))
		}
		slices.Reverse(folders) // the order in which they are named must not matter
		out := filepath.Join(t.TempDir(), "out")
		merged, err := result.Merge(out, folders, nil)
		if err != nil {
			t.Fatal(err)
		}
		checkLog(t, out, merged)
		var sum result.Counts
		planned, sent, intended := int64(0), int64(0), result.NewHistogram()
		for _, folder := range folders {
			part := readSummary(t, folder)
			sum.Add(part.Counts)
			planned += part.Planned
			f, err := result.ReadPart(folder)
			if err != nil {
				t.Fatal(err)
			}
			sent += f.Generator.Sent
			intended.Merge(f.Intended())
		}
		if merged.Counts != sum || merged.Counts != whole.Counts || merged.Planned != planned || planned != whole.Planned || *merged.Violations != *whole.Violations {
			t.Errorf("%d parts: merged %+v, sum %+v, one worker %+v", of, merged.Counts, sum, whole.Counts)
		}
		together := result.Summarize(intended)
		together.Answered = sum.Completed + sum.Late
		if l := merged.LatencyMs["intended"]; l != together {
			t.Errorf("%d parts: merged %+v, together %+v", of, l, together)
		}
		for _, w := range merged.Generator.Workers {
			if p99 := merged.LatencyMs["intended"].P99; w.P99Ms == nil || *w.P99Ms < p99/4 || *w.P99Ms > 4*p99 {
				t.Errorf("P99 of worker %d: %v, of all together %v ms", w.Number, w.P99Ms, p99)
			}
		}
		if w := merged.Generator.Workers; len(w) != of || w[0].ClockOffsetUs != nil || w[of-1].Number != of-1 || merged.Generator.Threads != 2*of {
			t.Errorf("%d parts: %+v", of, merged.Generator)
		}
		if len(merged.Operations) != 3 || merged.Operations[1].Name != "visit.a" || strings.Contains(string(merged.Plan), `"part"`) {
			t.Errorf("operations %+v, plan %s", merged.Operations, merged.Plan)
		}
		for _, file := range []string{"wrk2.txt", "latency.hgrm"} {
			if _, err := os.Stat(filepath.Join(out, file)); err != nil {
				t.Error(err)
			}
		}
	}
}

// A request without an answer is slower than any answer, of whichever worker.
func TestUnansweredAmongParts(t *testing.T) {
	t.Parallel()
	s := serve(t, func(conn net.Conn, path string, n int) bool {
		if strings.HasPrefix(path, "/a/") {
			return raw("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", true)(conn, path, n)
		}
		return ok(conn, path, n)
	})
	folders := together(t, 2, func(number int) *Plan {
		return s.share(t, map[string]any{"timeout_s": 0.9}, number, 2)
	})
	slow, err := result.ReadPart(folders[1])
	if err != nil {
		t.Fatal(err)
	}
	slow.SlowestNs = 50e9 // as if this worker had had to wait that long for an answer
	if err := result.WriteJSON(filepath.Join(folders[1], result.PartFile), slow); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	merged, err := result.Merge(out, folders, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkLog(t, out, merged)
	failed := merged.Operations[slices.IndexFunc(merged.Operations, func(o result.OperationSummary) bool { return o.Name == "visit.a" })]
	l := failed.LatencyMs["intended"]
	if l.Count == 0 || l.Count != failed.Counts.Errors || math.Abs(l.P50-50000) > 50 || math.Abs(l.Max-50000) > 50 {
		t.Errorf("%+v, %+v", failed.Counts, l)
	}
	if len(merged.Errors) != 2 || merged.Errors[0].Count != merged.Errors[1].Count || merged.Counts.Skipped != merged.Errors[0].Count {
		t.Errorf("errors %+v, counts %+v", merged.Errors, merged.Counts)
	}
}

// made writes a part by hand, into a folder of its own: one latency of a millisecond in the first second.
func made(t testing.TB, change func(*result.Findings)) string {
	t.Helper()
	intended := result.NewHistogram()
	result.Record(intended, 1e6, 1)
	start := time.UnixMilli(1_700_000_000_000)
	f := &result.Findings{
		Schema: result.PartSchema, Part: result.Part{Number: 0, Of: 2}, Identity: result.Identity{Plan: json.RawMessage(`{"seed": 1, "target": "http://x", "part": {"number": 0, "of": 2}}`)},
		Loop: "open", WindowS: 2, ToNs: 2e9, TimeoutNs: 1e9, Started: start, EndNs: 2e9, Planned: 1, Offered: 1,
		Lateness: result.Histogram{Histogram: result.NewHistogram()}, Rates: result.Histogram{Histogram: result.NewRates()}, LessOwn: result.Histogram{Histogram: result.NewHistogram()},
		Generator: result.Effort{Wait: "precise", Threads: 1, OwnLateness: result.Histogram{Histogram: result.NewHistogram()}},
		Kinds:     []result.KindFindings{{Name: "home", Counts: result.Counts{Offered: 1, Sent: 1, Completed: 1}, Good: 1, Intended: result.Histogram{Histogram: intended}, Service: result.Histogram{Histogram: intended}}},
	}
	change(f)
	folder := t.TempDir()
	if err := result.WriteJSON(filepath.Join(folder, result.PartFile), f); err != nil {
		t.Fatal(err)
	}
	log, err := result.NewIntervalLog(filepath.Join(folder, result.LogFile), start)
	if err == nil {
		err = log.Write(intended, result.WholeTag, 0, 1e9)
	}
	if err == nil {
		err = log.Finish()
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	first := made(t, func(*result.Findings) {})
	second := func(change func(*result.Findings)) string {
		return made(t, func(f *result.Findings) { f.Part.Number = 1; change(f) })
	}
	good := second(func(*result.Findings) {})
	cut := second(func(*result.Findings) {})
	if err := os.WriteFile(filepath.Join(cut, result.LogFile), []byte("#[StartTime: 1700000000.000]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	half := t.TempDir()
	if err := os.WriteFile(filepath.Join(half, result.PartFile), fmt.Appendf(nil, `{"schema": %d, "part": {"number": 1, "of": 2}}`, result.PartSchema), 0o600); err != nil {
		t.Fatal(err)
	}
	long := hdr.New(1000, 24*3600*1e9, 3) // as by a stone whose histograms reach further
	_ = long.RecordValue(5 * 3600 * 1e9)
	beyond := second(func(*result.Findings) {})
	log, err := result.NewIntervalLog(filepath.Join(beyond, result.LogFile), time.UnixMilli(1_700_000_000_000))
	if err == nil {
		err = errors.Join(log.Write(long, "service", 0, 1e9), log.Finish())
	}
	if err != nil {
		t.Fatal(err)
	}
	plan := func(text string) string { return second(func(f *result.Findings) { f.Plan = json.RawMessage(text) }) }
	for _, c := range []struct {
		folders []string
		says    string
	}{
		{[]string{first, good}, ""},
		{[]string{first, plan(`{"target":"http://x","seed":1,"cpus":[3],"start_unix_ns":7,"metrics":"127.0.0.1:1"}`)}, ""},
		{[]string{first}, "1 of 2 parts: 1 missing; give the folders of all"},
		{[]string{good}, "1 of 2 parts: 0 missing"},
		{[]string{first, good, first}, first + " and " + first + " are both part 0; give each part once"},
		{nil, "no folder of a part"},
		{[]string{first, t.TempDir()}, "part.json"},
		{[]string{first, half}, half + "/part.json is not a whole part"},
		{[]string{first, second(func(f *result.Findings) { f.Part = result.Part{Number: 2, Of: 3} })}, "is one of 3; they are of different runs"},
		{[]string{first, second(func(f *result.Findings) { f.Schema = 1 })}, fmt.Sprintf("schema 1, this stone reads %d", result.PartSchema)},
		{[]string{first, plan(`{"seed":18446744073709551615,"target":"http://y"}`)}, "their plans differ in seed, target"},
		{[]string{first, plan(`{"seed":1,"target":"http://x","slo":null}`)}, "their plans differ in slo"},
		{[]string{first, second(func(f *result.Findings) { f.Files = map[string]string{"/x.lua": "2"} })}, "/x.lua is not the same file for both; copy it"},
		{[]string{first, second(func(f *result.Findings) { f.Arrivals.Count++ })}, "their schedules differ (0 arrivals and 1)"},
		{[]string{first, second(func(f *result.Findings) { f.Started = f.Started.Add(37 * time.Second) })}, "they began 37s apart; give both plans the same start_unix_ns"},
		{[]string{first, second(func(f *result.Findings) { f.Offered++ })}, "accounting: offered 3, sent 2"},
		{[]string{first, second(func(f *result.Findings) { f.Kinds[0].Intended.Histogram = long })}, "is not a whole part"},
		{[]string{first, second(func(f *result.Findings) { f.Kinds[0].Service.Histogram = long })}, "is not a whole part"},
		{[]string{first, second(func(f *result.Findings) { f.Lateness.Histogram = long })}, "is not a whole part"},
		{[]string{first, beyond}, beyond + `/latency.hlog: 1 values of "service" are beyond`},
		{[]string{first, cut}, cut + ": latency.hlog has 0 latencies, part.json has 1"},
	} {
		out := t.TempDir()
		_, err := result.Merge(out, c.folders, nil)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("want %q, got %v", c.says, err)
		}
		if files, _ := filepath.Glob(filepath.Join(out, "*")); c.says != "" && len(files) > 0 {
			t.Errorf("%s: there are files: %v", c.says, files)
		}
	}
	if _, err := result.Merge(good, []string{first, good}, nil); err == nil || !strings.Contains(err.Error(), "give another folder") {
		t.Errorf("the result into a part's folder: %v", err)
	}
}

// Clocks that are known to differ are set right, in the log too.
func TestMergeSetsClocksRight(t *testing.T) {
	t.Parallel()
	first := made(t, func(*result.Findings) {})
	second := made(t, func(f *result.Findings) { f.Part.Number = 1; f.Started = f.Started.Add(-3 * time.Second) })
	shiftLog(t, second, -3*time.Second)
	known := []result.WorkerSummary{{Name: "a:1", ClockOffsetUs: new(250.0), ClockErrorUs: new(10.0)}, {Name: "b:1", ClockOffsetUs: new(-2_999_900.0), ClockErrorUs: new(20.0)}}
	out := t.TempDir()
	merged, err := result.Merge(out, []string{second, first}, known)
	if err != nil {
		t.Fatal(err)
	}
	if w := merged.Generator.Workers; w[1].Name != "b:1" || *w[1].ClockOffsetUs != -2_999_900 || *w[0].ClockErrorUs != 10 {
		t.Errorf("workers %+v", w)
	}
	file, err := os.Open(filepath.Join(out, result.LogFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader := hdr.NewHistogramLogReader(file)
	h, err := reader.NextIntervalHistogram()
	if err != nil || h.TotalCount() != 2 || math.Abs(float64(h.StartTimeMs()-1_700_000_000_000)) > 2 {
		t.Errorf("%v, %+v", err, h)
	}
	if more, err := reader.NextIntervalHistogram(); more != nil || err != nil {
		t.Errorf("one more interval: %v, %v", more, err)
	}
}

// shiftLog writes the log of a part made by hand anew, as a clock that differs would have had it.
func shiftLog(t *testing.T, folder string, by time.Duration) {
	t.Helper()
	h := result.NewHistogram()
	result.Record(h, 1e6, 1)
	log, err := result.NewIntervalLog(filepath.Join(folder, result.LogFile), time.UnixMilli(1_700_000_000_000).Add(by))
	if err == nil {
		err = log.Write(h, result.WholeTag, 0, 1e9)
	}
	if err == nil {
		err = log.Finish()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A part without a coordinator cannot know when all parts together have failed.
func TestALonePartDoesNotAbort(t *testing.T) {
	s := serve(t, ok)
	plan := s.share(t, map[string]any{"slo": map[string]any{"percentile": 99, "latency_ms": 1}, "abort": true}, 0, 2)
	if _, err := Run(context.Background(), plan, t.TempDir(), nil); err == nil || !strings.HasPrefix(err.Error(), "abort: one of several workers") {
		t.Errorf("%v", err)
	}
}

// Whatever a part.json holds, merging it ends with a summary or an error.
func FuzzPart(f *testing.F) {
	f.Add([]byte(`{"schema":2,"part":{"number":0,"of":1}}`))
	whole, err := os.ReadFile(filepath.Join(made(f, func(f *result.Findings) { f.Part.Of = 1 }), result.PartFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, text []byte) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, result.PartFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = result.Merge(t.TempDir(), []string{folder}, nil)
	})
}

// Connections and clients are those of all workers together.
func TestPartsShareConnectionsAndClients(t *testing.T) {
	t.Parallel()
	s := serve(t, silent)
	folders := together(t, 2, func(number int) *Plan {
		return s.share(t, map[string]any{"connections": 7, "arrival": nil, "closed": map[string]any{"clients": 5}, "drain_s": 0.1, "duration_s": 0.4,
			"operations": json.RawMessage(`[{"name":"home","path":"/"}]`)}, number, 2)
	})
	s.mutex.Lock()
	connections := len(s.conns)
	s.mutex.Unlock()
	const probes = 2 // each worker looks first whether anybody is there
	if connections != 7+probes || len(s.seen()) != 5 {
		t.Errorf("%d connections, %d requests of clients that got no answer", connections, len(s.seen()))
	}
	merged, err := result.Merge(t.TempDir(), folders, nil)
	if err != nil || merged.Loop != "closed" || merged.Counts.Offered != 5 || merged.Counts.InFlight != 5 {
		t.Errorf("%v, %+v", err, merged)
	}
}
