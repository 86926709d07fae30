package export

import (
	"bytes"
	"flag"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/percentile"
)

var update = flag.Bool("update", false, "write the golden files anew")

func example() Text {
	latency, _ := sample(20000)
	rates := hdr.New(1, 10e6, 3)
	for second := range int64(30) {
		if err := rates.RecordValue(160 + 2*second%14); err != nil {
			panic(err)
		}
	}
	return Text{
		Layout: Current, URL: "http://127.0.0.1:8080", Threads: 4, Connections: 512, Duration: 30 * time.Second, Latency: latency, Rates: rates,
		Answers: 19874, Bytes: 12_876_321, Connect: 3, Read: 2, Write: 1, Timeout: 120, Status: 14,
	}
}

func wrk2(t *testing.T, text Text) string {
	t.Helper()
	var b bytes.Buffer
	if err := Wrk2(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrk2Golden(t *testing.T) {
	for layout, path := range map[string]string{Current: "testdata/wrk2.txt", Before2023: "testdata/wrk2-before-2023.txt"} {
		text := example()
		text.Layout = layout
		got := wrk2(t, text)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || got != string(want) {
			t.Errorf("%v; run with -update and look at the difference; got\n%s", err, got)
		}
	}
}

// parsed is what a script that reads wrk2's text takes from it.
type parsed struct {
	url                         string
	threads, connections        int64
	latency, rates              [4]float64 // mean, deviation, p99 in us or requests/s; percent within
	percentiles                 map[float64]float64
	requests                    int64
	seconds, bytes              float64
	connect, read, write, timed int64
	status                      int64
	perSecond, bytesPerSecond   float64
	spectrum                    string
}

var scale = map[string]float64{
	"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6,
	"": 1, "k": 1e3, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30,
}

// amount reads a number with its unit: us for times, bytes for sizes.
func amount(t *testing.T, text string) float64 {
	t.Helper()
	m := regexp.MustCompile(`^([0-9.]+)([A-Za-z]*)$`).FindStringSubmatch(text)
	if m == nil || scale[m[2]] == 0 {
		t.Fatalf("%q is no amount", text)
	}
	value, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return value * scale[m[2]]
}

// readWrk2 finds each line by the words that scripts look for.
func readWrk2(t *testing.T, text string) parsed {
	t.Helper()
	find := func(form string, groups int) []string {
		m := regexp.MustCompile("(?m)" + form).FindStringSubmatch(text)
		if m == nil {
			return make([]string, groups+1)
		}
		return m
	}
	whole := func(text string) int64 {
		if text == "" {
			return -1
		}
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	p := parsed{percentiles: map[float64]float64{}}
	p.url = find(`^Running \S+ test @ (.*)$`, 1)[1]
	m := find(`^  (\d+) threads and (\d+) connections$`, 2)
	p.threads, p.connections = whole(m[1]), whole(m[2])
	for name, into := range map[string]*[4]float64{"Latency": &p.latency, "Req/Sec": &p.rates} {
		if m := find(`^    `+name+` +(\S+) +(\S+) +(\S+) +([0-9.]+)%$`, 4); m[1] != "" {
			*into = [4]float64{amount(t, m[1]), amount(t, m[2]), amount(t, m[3]), amount(t, m[4])}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^ *([0-9.]+)% +(\S+) *$`).FindAllStringSubmatch(text, -1) {
		p.percentiles[amount(t, m[1])] = amount(t, m[2])
	}
	m = find(`^  (\d+) requests in (\S+), (\S+) read$`, 3)
	p.requests, p.seconds, p.bytes = whole(m[1]), amount(t, m[2])/1e6, amount(t, m[3])
	m = find(`^  Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$`, 4)
	p.connect, p.read, p.write, p.timed = whole(m[1]), whole(m[2]), whole(m[3]), whole(m[4])
	p.status = whole(find(`^  Non-2xx or 3xx responses: (\d+)$`, 1)[1])
	p.perSecond = amount(t, find(`^Requests/sec: +(\S+) *$`, 1)[1])
	p.bytesPerSecond = amount(t, find(`^Transfer/sec: +(\S+)$`, 1)[1])
	_, rest, _ := strings.Cut(text, "  Detailed Percentile spectrum:\n")
	p.spectrum, _, _ = strings.Cut(rest, "-----")
	return p
}

func TestWrk2RoundTrip(t *testing.T) {
	given := example()
	p := readWrk2(t, wrk2(t, given))
	if p.url != given.URL || p.threads != 4 || p.connections != 512 || p.requests != given.Answers || p.seconds != 30 ||
		p.connect != 3 || p.read != 2 || p.write != 1 || p.timed != 120 || p.status != 14 {
		t.Errorf("read back %+v", p)
	}
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.005*want+0.01 { // two decimals are written
			t.Errorf("%s: read back %v, want %v", name, got, want)
		}
	}
	h := given.Latency
	near("mean", p.latency[0], h.Mean()/1e3)
	near("deviation", p.latency[1], h.StdDev()/1e3)
	near("p99", p.latency[2], float64(percentile.Of(h, 99))/1e3)
	near("rate", p.rates[0], given.Rates.Mean())
	near("rate's deviation", p.rates[1], given.Rates.StdDev())
	near("rate's p99", p.rates[2], float64(percentile.Of(given.Rates, 99)))
	near("bytes", p.bytes, float64(given.Bytes))
	near("requests/s", p.perSecond, 19874.0/30)
	near("bytes/s", p.bytesPerSecond, float64(given.Bytes)/30)
	if len(p.percentiles) != 8 {
		t.Errorf("percentiles %v", p.percentiles)
	}
	for q, us := range p.percentiles {
		near("percentile", us, float64(percentile.Of(h, q))/1e3)
	}
	if rows, end := readSpectrum(t, p.spectrum); len(rows) < 60 || end.count != h.TotalCount() {
		t.Errorf("%d rows, trailer %+v", len(rows), end)
	}
}

// wrk2 prints -nan where nothing was measured; that is no number to anyone.
func TestWrk2OfAnIdleRun(t *testing.T) {
	text := wrk2(t, Text{
		URL: "http://127.0.0.1:1", Threads: 1, Connections: 1, Duration: time.Second,
		Latency: hdr.New(1000, 7200e9, 3), Rates: hdr.New(1, 10e6, 3),
	})
	if strings.Contains(strings.ToLower(text), "nan") || !strings.Contains(text, "    Latency     0.00us    0.00us   0.00us    0.00%\n") {
		t.Error(text)
	}
	p := readWrk2(t, text)
	if p.requests != 0 || p.connect != -1 || p.status != -1 || p.percentiles[50] != 0 || p.perSecond != 0 {
		t.Errorf("read back %+v", p)
	}
	if err := Wrk2(&bytes.Buffer{}, Text{Latency: hdr.New(1000, 7200e9, 3)}); err == nil {
		t.Error("a run of no duration was written")
	}
}

// The heading and the totals are set apart by the dashes of DeathStarBench's fork as it is now.
func TestWrk2Layout(t *testing.T) {
	got := wrk2(t, example())
	head := "Running 30s test @ http://127.0.0.1:8080\n  4 threads and 512 connections\n\n\n" + strings.Repeat("-", 71) +
		"\nTest Results @ http://127.0.0.1:8080 \n  Thread Stats   Avg      Stdev     99%   +/- Stdev\n"
	tail := "SubBuckets     =         2048]\n" + strings.Repeat("-", 71) + "\n  19874 requests in 30.00s, 12.28MB read\n"
	if !strings.HasPrefix(got, head) || !strings.Contains(got, tail) || !strings.Contains(got, "\nRequests/sec:    662.47  \n") {
		t.Error(got)
	}
}

// What is not known is not there: a window without a whole second has no answers in one.
func TestWrk2WithoutRates(t *testing.T) {
	text := example()
	for _, rates := range []*hdr.Histogram{nil, hdr.New(1, 10e6, 3)} {
		text.Rates = rates
		if got := wrk2(t, text); strings.Contains(got, "Req/Sec") || !strings.Contains(got, "Requests/sec:") {
			t.Error(got)
		}
	}
}

// The places where wrk2 changes the unit, and how it keeps the digits in one column.
func TestWrk2Units(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{duration(425.8e3), "425.80us"}, {duration(849.99e3), "849.99us"}, {duration(850e3), "0.85ms"},
		{duration(19.26e6), "19.26ms"}, {duration(999e6), "999.00ms"}, {duration(1e9), "1.00s"},
		{duration(50.9e9), "50.90s"}, {duration(51e9), "0.85m"}, {duration(10800e9), "180.00m"},
		{binary.format(869, 2), "869.00"}, {binary.format(62.5*1024, 2), "62.50K"}, {binary.format(1<<40, 2), "1.00T"},
		{metric.format(171.9, 2), "171.90"}, {metric.format(2640, 2), "2.64k"},
		{seconds.format(30, 0), "30s"}, {seconds.format(60, 0), "1m"},
		{column("0.97ms", 8) + column("425.80us", 10) + column("19.26ms", 9), "  0.97ms  425.80us  19.26ms"},
		{column("171.90", 8) + column("89.93", 10) + column("666.00", 9), "171.90     89.93   666.00  "},
		{column("2.64k", 8) + column("28.48s", 10), "  2.64k    28.48s "},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestWithinOneDeviation(t *testing.T) {
	h := hdr.New(1, 10e6, 3)
	for _, value := range []int64{10, 10, 10, 10, 10, 10, 10, 10, 10, 100} {
		if err := h.RecordValue(value); err != nil {
			t.Fatal(err)
		}
	}
	if got := within(h, h.Mean(), h.StdDev()); got != 0.9 {
		t.Errorf("%v of nine equal values and one far away", got)
	}
	h.Reset()
	if err := h.RecordValues(1234567, 7); err != nil {
		t.Fatal(err)
	}
	if got := within(h, h.Mean(), h.StdDev()); got != 1 {
		t.Errorf("%v of equal values", got)
	}
}
