package export

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/percentile"
)

// Layouts of wrk2's text: what DeathStarBench's fork prints now, with a heading above the results of each target, and
// what it printed before 2023.
const (
	Current    = "current"
	Before2023 = "before-2023"
)

// Text is what the wrk2 text format says of a run.
type Text struct {
	Layout      string
	URL         string
	Threads     int
	Connections int
	Duration    time.Duration  // length of the measured window
	Latency     *hdr.Histogram // ns from the intended time, of every request of the window
	Rates       *hdr.Histogram // answers/s of one thread, a value for each thread and whole second; nil: no line
	Answers     int64          // whole answers, of any status, that came in the window
	Bytes       int64          // read in the window
	Connect     int64          // attempts to connect that failed
	Read        int64          // requests lost while their answer was read
	Write       int64          // ... while they were sent
	Timeout     int64          // requests without a whole answer in time
	Status      int64          // answers of a status of 400 and above
}

// Wrk2 writes a run as wrk2 of DeathStarBench prints it with -L, so that scripts written for that can read it. Only
// the lines on wrk2's calibration are not there, as there is none. The numbers are those of this load generator:
// latency counts from the intended time and covers the whole window.
func Wrk2(w io.Writer, t Text) error {
	if t.Duration <= 0 {
		return errors.New("wrk2 text: a run of no duration has no rates")
	}
	if t.Rates != nil && t.Rates.TotalCount() == 0 { // the window had no whole second
		t.Rates = nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Running %s test @ %s\n", seconds.format(t.Duration.Seconds(), 0), t.URL)
	fmt.Fprintf(&text, "  %d threads and %d connections\n", t.Threads, t.Connections)
	if t.Layout == Current {
		fmt.Fprintf(&text, "\n\n%s\nTest Results @ %s \n", t.rule(), t.URL)
	}
	fmt.Fprintf(&text, "  Thread Stats%6s%11s%8s%12s\n", "Avg", "Stdev", "99%", "+/- Stdev")
	writeStats(&text, "Latency", t.Latency, duration)
	if t.Rates != nil {
		writeStats(&text, "Req/Sec", t.Rates, func(rate float64) string { return metric.format(rate, 2) })
	}
	text.WriteString("  Latency Distribution (HdrHistogram - Recorded Latency)\n")
	for _, p := range []float64{50, 75, 90, 99, 99.9, 99.99, 99.999, 100} {
		value := duration(float64(percentile.Of(t.Latency, p)))
		fmt.Fprintf(&text, "%7.3f%%%s\n", p, column(value, 10))
	}
	text.WriteString("\n  Detailed Percentile spectrum:\n")
	if err := Spectrum(&text, t.Latency); err != nil {
		return err
	}
	t.writeTotals(&text)
	_, err := io.WriteString(w, text.String())
	return err
}

// rule is the line of dashes above the results and above the totals.
func (t Text) rule() string {
	if t.Layout == Current {
		return strings.Repeat("-", 71)
	}
	return strings.Repeat("-", 58)
}

// writeTotals writes what stands below the distribution.
func (t Text) writeTotals(w io.Writer) {
	fmt.Fprintln(w, t.rule())
	fmt.Fprintf(w, "  %d requests in %s, %sB read\n", t.Answers, duration(float64(t.Duration)), binary.format(float64(t.Bytes), 2))
	if t.Connect+t.Read+t.Write+t.Timeout > 0 {
		fmt.Fprintf(w, "  Socket errors: connect %d, read %d, write %d, timeout %d\n", t.Connect, t.Read, t.Write, t.Timeout)
	}
	if t.Status > 0 {
		fmt.Fprintf(w, "  Non-2xx or 3xx responses: %d\n", t.Status)
	}
	fmt.Fprintf(w, "Requests/sec: %9.2f%s\n", float64(t.Answers)/t.Duration.Seconds(), map[string]string{Current: "  "}[t.Layout])
	fmt.Fprintf(w, "Transfer/sec: %10sB\n", binary.format(float64(t.Bytes)/t.Duration.Seconds(), 2))
}

// writeStats writes a line of the table: mean, standard deviation, 99th percentile, and the share of the values
// that lie within one standard deviation of the mean.
func writeStats(w io.Writer, name string, h *hdr.Histogram, format func(float64) string) {
	mean, deviation := h.Mean(), h.StdDev()
	fmt.Fprintf(w, "    %-10s%s%s%s%8.2f%%\n", name, column(format(mean), 8), column(format(deviation), 10),
		column(format(float64(percentile.Of(h, 99))), 9), 100*within(h, mean, deviation))
}

// within is the share of the values, each taken in the middle of its bucket as in the mean, that are at most
// `deviation` away from the mean; 0 of none.
func within(h *hdr.Histogram, mean, deviation float64) float64 {
	count := int64(0)
	for _, bar := range h.Distribution() {
		if middle := float64(bar.From + (bar.To-bar.From+1)/2); math.Abs(middle-mean) <= deviation+1e-9*mean {
			count += bar.Count
		}
	}
	return float64(count) / float64(max(h.TotalCount(), 1))
}

// column ends the digits of a value in the same place whether its unit has no letter, one or two.
func column(value string, width int) string {
	blanks := 2 - (len(value) - len(strings.TrimRight(value, "abcdefghijklmnopqrstuvwxyzKMGT")))
	return fmt.Sprintf("%*s%s", width-blanks, value, "  "[:blanks])
}

// units are those of one quantity, from the smallest on, each `scale` of the one before.
type units struct {
	scale float64
	names []string
}

var (
	microseconds = units{1000, []string{"us", "ms"}}
	seconds      = units{60, []string{"s", "m"}} // there is none above: wrk2 writes 180.00m
	binary       = units{1024, []string{"", "K", "M", "G", "T"}}
	metric       = units{1000, []string{"", "k", "M", "G", "T"}}
)

// format writes a value in the largest unit of which it has at least 0.85.
func (u units) format(value float64, decimals int) string {
	unit := 0
	for unit < len(u.names)-1 && value >= 0.85*u.scale {
		value /= u.scale
		unit++
	}
	return fmt.Sprintf("%.*f%s", decimals, value, u.names[unit])
}

// duration formats ns as wrk2 does: us and ms below a second, s and m from there on.
func duration(ns float64) string {
	if ns >= 1e9 {
		return seconds.format(ns/1e9, 2)
	}
	return microseconds.format(ns/1e3, 2)
}
