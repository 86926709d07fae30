package export

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

func snapshot(t *testing.T) Snapshot {
	t.Helper()
	latency := hdr.New(1000, 7200e9, 3)
	for _, ns := range []int64{50e3, 1e6, 1e6, 3e6, 700e6, 20e9} {
		if err := latency.RecordValue(ns); err != nil {
			t.Fatal(err)
		}
	}
	return Snapshot{
		Offered: 20, Sent: 18, Completed: 6, InFlight: 7, CPUShare: 0.25, Lateness: Distribute(hdr.New(1000, 7200e9, 3)),
		Operations: []OperationSnapshot{{"home", 5, Distribute(latency)}, {"sea\"rch", 0, Distribution{}}},
	}
}

func scrape(t *testing.T, address string) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func TestMetrics(t *testing.T) {
	listener := listen(t)
	address := listener.Addr().String()
	scrapes := int64(0)
	stop := serve(listener, func() Snapshot {
		s := snapshot(t)
		scrapes++
		s.Offered += scrapes
		return s
	})
	defer stop()
	for _, offered := range []string{"21", "22"} { // each scrape takes a new snapshot
		code, text := scrape(t, address)
		lines := strings.Split(text, "\n")
		has := map[string]bool{}
		for _, line := range lines {
			has[line] = true
		}
		for _, line := range []string{
			"stone_load_offered_total " + offered, "stone_load_sent_total 18", "stone_load_completed_total 6",
			"stone_load_in_flight 7", "stone_load_cpu_share 0.25",
			`stone_load_errors_total{operation="home"} 5`, `stone_load_errors_total{operation="sea\"rch"} 0`,
			`stone_load_latency_seconds_bucket{operation="home",le="0.0001"} 1`,
			`stone_load_latency_seconds_bucket{operation="home",le="0.0005"} 1`,
			`stone_load_latency_seconds_bucket{operation="home",le="0.001"} 3`, // values on the bound
			`stone_load_latency_seconds_bucket{operation="home",le="0.002"} 3`,
			`stone_load_latency_seconds_bucket{operation="home",le="0.005"} 4`,
			`stone_load_latency_seconds_bucket{operation="home",le="1"} 5`,
			`stone_load_latency_seconds_bucket{operation="home",le="10"} 5`,
			`stone_load_latency_seconds_bucket{operation="home",le="+Inf"} 6`,
			`stone_load_latency_seconds_count{operation="home"} 6`,
			`stone_load_latency_seconds_count{operation="sea\"rch"} 0`,
			"stone_load_lateness_seconds_count 0", "stone_load_lateness_seconds_sum 0",
		} {
			if !has[line] {
				t.Errorf("no line %s", line)
			}
		}
		if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 || code != http.StatusOK {
			t.Errorf("status %d, %v, %v", code, problems, err)
		}
		if t.Failed() {
			t.Fatal(text)
		}
	}
}

// An address without a host is not one for everybody, and one that is taken is an error that says so. A stop is one.
func TestMetricsAddress(t *testing.T) {
	listener := listen(t)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	source := func() Snapshot { return Snapshot{} }
	if _, err := Metrics(":"+port, source); err == nil || !strings.Contains(err.Error(), "127.0.0.1:"+port) || !strings.Contains(err.Error(), "another address") {
		t.Errorf("an address that is taken: %v", err)
	}
	stop := serve(listener, source)
	if code, text := scrape(t, listener.Addr().String()); code != http.StatusOK || !strings.Contains(text, "stone_load_offered_total 0") {
		t.Errorf("status %d\n%s", code, text)
	}
	stop()
	if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the stop: %v", err)
	}
}

func TestDistribute(t *testing.T) {
	d := Distribute(hdr.New(1000, 7200e9, 3))
	if d.count != 0 || d.sum != 0 || len(d.buckets) != len(bounds) || d.buckets[10] != 0 {
		t.Errorf("of nothing: %+v", d)
	}
	h := hdr.New(1000, 7200e9, 3)
	if err := h.RecordValues(2e9, 1000); err != nil {
		t.Fatal(err)
	}
	if d := Distribute(h); d.count != 1000 || d.buckets[1] != 0 || d.buckets[2] != 1000 || d.sum < 1999 || d.sum > 2001 {
		t.Errorf("1000 times 2 s: %+v", d)
	}
}
