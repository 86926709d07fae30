package export

import (
	"bufio"
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// sample is a histogram as the load generator keeps them, and the values in it, in ascending order.
func sample(count int) (*hdr.Histogram, []int64) {
	h := hdr.New(1000, 7200e9, 3)
	values, state := make([]int64, count), uint64(1)
	for i := range values {
		state = state * 48271 % 2147483647
		values[i] = int64(200e3 + state%3e6)
		if state%97 == 0 {
			values[i] += int64(state % 400e6)
		}
		if err := h.RecordValue(values[i]); err != nil {
			panic(err)
		}
	}
	slices.Sort(values)
	return h, values
}

// A row of a spectrum, as a reader of the format finds it.
type point struct {
	value, percentile float64
	count             int64
	inverse           float64
}

type trailer struct {
	mean, deviation, max        float64
	count, buckets, subBuckets  int64
	meanLine, maxLine, sizeLine bool
}

var (
	rowForm  = regexp.MustCompile(`^\s+([0-9.]+)\s+([0-9.]+)\s+([0-9]+)\s+([0-9.]+|inf)$`)
	meanForm = regexp.MustCompile(`^#\[Mean\s+=\s+([0-9.]+),\s+StdDeviation\s+=\s+([0-9.]+)\]$`)
	maxForm  = regexp.MustCompile(`^#\[Max\s+=\s+([0-9.]+),\s+Total count\s+=\s+([0-9]+)\]$`)
	sizeForm = regexp.MustCompile(`^#\[Buckets\s+=\s+([0-9]+),\s+SubBuckets\s+=\s+([0-9]+)\]$`)
)

// readSpectrum reads the format line by line; a line that is none of it fails the test.
func readSpectrum(t *testing.T, text string) (rows []point, end trailer) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Scan()
	if lines.Text() != "       Value   Percentile   TotalCount 1/(1-Percentile)" {
		t.Errorf("heading %q", lines.Text())
	}
	number := func(text string) float64 {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	for lines.Scan() {
		line := lines.Text()
		if m := rowForm.FindStringSubmatch(line); m != nil {
			rows = append(rows, point{number(m[1]), number(m[2]), int64(number(m[3])), number(m[4])})
		} else if m := meanForm.FindStringSubmatch(line); m != nil {
			end.mean, end.deviation, end.meanLine = number(m[1]), number(m[2]), true
		} else if m := maxForm.FindStringSubmatch(line); m != nil {
			end.max, end.count, end.maxLine = number(m[1]), int64(number(m[2])), true
		} else if m := sizeForm.FindStringSubmatch(line); m != nil {
			end.buckets, end.subBuckets, end.sizeLine = int64(number(m[1])), int64(number(m[2])), true
		} else if line != "" {
			t.Errorf("a line that no reader knows: %q", line)
		}
	}
	if !end.meanLine || !end.maxLine || !end.sizeLine {
		t.Errorf("the trailer is not whole: %+v", end)
	}
	return rows, end
}

func spectrumText(t *testing.T, h *hdr.Histogram) string {
	t.Helper()
	var text bytes.Buffer
	if err := Spectrum(&text, h); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// tick is the percentile of the i-th row: five even steps for each halving of what is left.
func tick(i int) float64 {
	left := math.Pow(2, -float64(i/5))
	return 1 - left + float64(i%5)*left/10
}

// Each row must say of the values themselves what the format says that it says.
func TestSpectrumAgainstTheValues(t *testing.T) {
	h, values := sample(20000)
	rows, end := readSpectrum(t, spectrumText(t, h))
	total := int64(len(values))
	if len(rows) < 60 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		written := int64(r.value * 1e6) // rounded to a us
		fewest, _ := slices.BinarySearch(values, written-500)
		most, _ := slices.BinarySearch(values, written+501)
		if i == len(rows)-1 {
			if r.percentile != 1 || r.count != total || !math.IsInf(r.inverse, 1) {
				t.Errorf("last row %+v", r)
			}
			continue
		}
		p := tick(i)
		if math.Abs(r.percentile-p) > 5.1e-7 || math.Abs(r.inverse-1/(1-p)) > 0.0051 {
			t.Errorf("row %d: %+v, the percentile there is %v", i, r, p)
		}
		if r.count < int64(fewest) || r.count > int64(most) {
			t.Errorf("row %d: %+v, but %d to %d values are at most that", i, r, fewest, most)
		}
		ranked := float64(values[max(int(math.Ceil(p*float64(total))), 1)-1]) / 1e6
		if float64(r.count) < p*float64(total) || ranked > r.value+0.0005 || ranked < r.value*0.999-0.0015 {
			t.Errorf("row %d: %+v, but the value at %v is %v", i, r, p, ranked)
		}
	}
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += float64(v) / 1e6
	}
	mean := sum / float64(total)
	for _, v := range values {
		squares += (float64(v)/1e6 - mean) * (float64(v)/1e6 - mean)
	}
	deviation := math.Sqrt(squares / float64(total))
	largest := float64(values[total-1]) / 1e6
	near := func(a, b float64) bool { return math.Abs(a-b) <= 0.001*b+0.001 }
	if end.count != total || !near(end.mean, mean) || !near(end.deviation, deviation) || !near(end.max, largest) || end.subBuckets != 2048 {
		t.Errorf("trailer %+v; mean %v, deviation %v, max %v, count %d", end, mean, deviation, largest, total)
	}
}

func TestSpectrumOfNothing(t *testing.T) {
	rows, end := readSpectrum(t, spectrumText(t, hdr.New(1000, 7200e9, 3)))
	if len(rows) != 1 || rows[0].count != 0 || rows[0].value != 0 || end != (trailer{count: 0, buckets: end.buckets, subBuckets: 2048, meanLine: true, maxLine: true, sizeLine: true}) {
		t.Errorf("rows %v, trailer %+v", rows, end)
	}
}
