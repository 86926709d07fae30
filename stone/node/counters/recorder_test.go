package counters

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

func serve(t *testing.T, host *Host) string {
	t.Helper()
	recorder := NewRecorder(host)
	server := httptest.NewServer(Handler(host, recorder))
	t.Cleanup(func() { server.Close(); recorder.Close() })
	return server.URL
}

func post(t *testing.T, url, body string) (int, string, http.Header) {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer), response.Header
}

// begun begins a recording over HTTP.
func begun(t *testing.T, at, wanted string) (id string) {
	t.Helper()
	status, body, _ := post(t, at+"/recordings", wanted)
	answer := struct{ ID string }{}
	if err := json.Unmarshal([]byte(body), &answer); status != 200 || err != nil || answer.ID == "" {
		t.Fatalf("%d %s", status, body)
	}
	return answer.ID
}

func TestARecordingOverHTTP(t *testing.T) {
	host, _, cgroup := host1(t)
	host.clock = &clock{asking: true}
	tree(t, cgroup, map[string]string{"memory/loadstone/x/rate-1/memory.usage_in_bytes": "77\n"})
	at := serve(t, host)
	id := begun(t, at, `{"period_ms": 60000, "replicas": {"rate-1": {"group": "loadstone/x/rate-1"}, "geo-1": {"container": "`+geo+`"}}}`)

	status, body, header := post(t, at+"/recordings/"+id+"/end", "")
	if status != 200 || header.Get("Content-Type") != "application/vnd.apache.parquet" {
		t.Fatalf("%d %s %v", status, body, header)
	}
	rows, err := parquet.Read[row](bytes.NewReader([]byte(body)), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	memory := map[string]float64{}
	for _, row := range rows {
		if row.Metric == "container_memory_bytes" {
			memory[row.Subject] = row.Value
		}
	}
	if len(memory) != 2 || memory["replica:rate-1"] != 77 || memory["replica:geo-1"] != 4096 {
		t.Errorf("memory %v", memory)
	}
	file, err := parquet.OpenFile(bytes.NewReader([]byte(body)), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	for _, column := range file.Schema().Fields() {
		columns = append(columns, column.Name()+" "+column.Type().String())
	}
	if want := []string{"time_ns INT(64,true)", "subject STRING", "metric STRING", "value DOUBLE"}; !slices.Equal(columns, want) {
		t.Errorf("columns %q", columns)
	}
	absent, _ := file.Lookup("absent")
	reasons := map[string]string{}
	if err := json.Unmarshal([]byte(absent), &reasons); err != nil || reasons["cstate"] == "" || reasons["replica:rate-1"] != "" {
		t.Errorf("absent %s, %v", absent, err)
	}
	if status, body, _ := post(t, at+"/recordings/"+id+"/end", ""); status != 404 ||
		body != `no recording "`+id+`": it was fetched or thrown away, or began more than 1h0m0s ago`+"\n" {
		t.Errorf("fetched again: %d %s", status, body)
	}
}

func TestRecordingsThatAreThrownAway(t *testing.T) {
	host, _, _ := host1(t)
	host.clock = &clock{asking: true}
	at := serve(t, host)
	const wanted = `{"period_ms": 60000, "replicas": {}}`
	var ids []string
	for range mostRecordings {
		ids = append(ids, begun(t, at, wanted))
	}
	if status, body, _ := post(t, at+"/recordings", wanted); status != 409 ||
		body != "4 recordings are kept already: end one of them, or throw one away\n" {
		t.Errorf("one more: %d %s", status, body)
	}
	if status, body := ask(t, "DELETE", at+"/recordings/"+ids[0]); status != 200 || body != `{"dropped":true}` {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := ask(t, "DELETE", at+"/recordings/"+ids[0]); status != 404 {
		t.Errorf("twice: %d", status)
	}
	begun(t, at, wanted) // in its place; the others live on
	if status, _, _ := post(t, at+"/recordings/"+ids[1]+"/end", ""); status != 200 {
		t.Errorf("another: %d", status)
	}
}

func TestWhatCannotBeRecorded(t *testing.T) {
	host, _, _ := host1(t)
	at := serve(t, host)
	many := strings.Repeat(`"r`, 1) + `0": {"group": "loadstone/x"}`
	for body, want := range map[string]string{
		``:                                  "EOF",
		`[]`:                                "json: cannot unmarshal array into Go value of type counters.Wanted",
		`{"period_ms": 1000, "replica": 1}`: `json: unknown field "replica"`,
		`{"replicas": {}}`:                  "period_ms is 0: give 10 to 60000",
		`{"period_ms": 9}`:                  "period_ms is 9: give 10 to 60000",
		`{"period_ms": 60001}`:              "period_ms is 60001: give 10 to 60000",
		`{"period_ms": 18446744073720}`:     "period_ms is 18446744073720: give 10 to 60000", // 448 ms, in nanoseconds of 64 bits
		`{"period_ms": 10, "replicas": {"": {"group": "loadstone/x"}}}`:                        `"" is no name of a replica: give letters, digits and ._/:-`,
		`{"period_ms": 10, "replicas": {"a b": {"group": "loadstone/x"}}}`:                     `"a b" is no name of a replica: give letters, digits and ._/:-`,
		`{"period_ms": 10, "replicas": {"a": {}}}`:                                             `replica a: give either its "container" or its "group"`,
		`{"period_ms": 10, "replicas": {"a": {"group": "loadstone/../../etc"}}}`:               `replica a: "loadstone/../../etc" is no group that may be read: give a path like loadstone/DEPLOYMENT/REPLICA`,
		`{"period_ms": 10, "replicas": {` + many + strings.Repeat(" ", mostWantedBytes) + `}}`: "http: request body too large",
	} {
		if status, got, _ := post(t, at+"/recordings", body); status != 400 || got != "cannot begin to record: "+want+"\n" {
			t.Errorf("%.80s: %d %s", body, status, got)
		}
	}
	wanted := Wanted{PeriodMS: 10, Replicas: map[string]Subject{}}
	for i := range mostReplicas + 1 {
		wanted.Replicas[strings.Repeat("a", i)] = Subject{}
	}
	if err := wanted.Problem(); err == nil || err.Error() != "1001 replicas at once: record at most 1000" {
		t.Errorf("got %v", err)
	}
}

func TestWhatPrometheusIsTold(t *testing.T) {
	host, folder := machine(t, "intel.txt")
	tree(t, folder, map[string]string{"cgroup/memory/loadstone/x/rate-1/memory.usage_in_bytes": "77\n"})
	at := serve(t, host)
	const wanted = `{"period_ms": 60000, "replicas": {"rate-1": {"group": "loadstone/x/rate-1"}}}`
	begun(t, at, wanted)
	id := begun(t, at, wanted) // has the same replica, which is told once
	var body string
	for !strings.Contains(body, "container_memory_bytes") { // until both have read it
		_, body = ask(t, "GET", at+"/metrics")
	}
	unpack(t, "intel-later.txt", folder)
	_, body = ask(t, "GET", at+"/metrics")
	for _, line := range []string{
		"# HELP energy_joules_total Energy used (powercap's energy_uj without its beginning anew, or perf's power events).",
		"# TYPE energy_joules_total counter",
		`energy_joules_total{subject="power:package-0"} 262293`, // 150 more, though its counter began anew
		`cstate_seconds_total{subject="cpu:0/C6"} 470221.05411`,
		"# TYPE load1 gauge",
		`load1{subject="node"} 1.52`,
		`container_memory_bytes{subject="replica:rate-1"} 77`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("lacks %s", line)
		}
	}
	if count := strings.Count(body, `{subject="`); count != 24+2*9+2*4*2+2*5+2*6+6+1 {
		t.Errorf("%d numbers", count)
	}
	if status, _ := ask(t, "DELETE", at+"/recordings/"+id); status != 200 {
		t.Errorf("%d", status)
	}
}

// The reference names every metric.
func TestTheReferenceIsWhole(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/agent.md")
	if err != nil {
		t.Skip(err) // the module alone, as in an image
	}
	for metric := range Metrics {
		if !strings.Contains(string(page), "`"+metric+"`") {
			t.Errorf("%s is missing", metric)
		}
	}
}
