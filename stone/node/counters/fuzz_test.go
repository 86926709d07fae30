package counters

import (
	"math"
	"strings"
	"testing"
)

// Whatever a file that is read again and again holds, its parsers give numbers or an error.
func FuzzTextsOfTheKernel(f *testing.F) {
	for _, seed := range []string{
		netDev, "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3\nintr 12 3\nctxt 4\n", " 8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n", "usage_usec 2500000\nnr_periods 10\nthrottled_usec 3\n", "0-3,8", "12\n13\n", "7\n", "-1", "18446744073709551616", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		interfaces := 0
		err := eachInterface([]byte(text), func([]byte, [interfaceColumns]uint64) { interfaces++ })
		if lines := countLines(text); err == nil && interfaces != lines-2 {
			t.Errorf("%d interfaces in %d lines", interfaces, lines)
		}
		if name, _, err := parseDisk([]byte(text)); err == nil && len(name) == 0 {
			t.Error("a disk without a name")
		}
		times := reading{}
		err = (&processors{subjects: map[string]string{}}).tell([]byte(text), &times)
		if err == nil && len(times.points) > len(text) {
			t.Errorf("%d numbers in %d bytes", len(times.points), len(text))
		}
		if cpus, err := parseCPUs(text); err == nil && (len(cpus) == 0 || len(cpus) > 2*mostCPUs) {
			t.Errorf("%d processors", len(cpus))
		}
		for _, version := range []files{version1{}, version2{}} {
			for _, source := range version.sources() {
				r := reading{}
				err := source.tell([]byte(text), &r, "replica:x")
				for _, point := range r.points {
					if point.value < 0 || math.IsNaN(point.value) || math.IsInf(point.value, 0) {
						t.Errorf("%s is %v, %v", point.metric, point.value, err)
					}
				}
			}
		}
	})
}

func countLines(text string) int {
	lines := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	return lines
}

// However an energy counter moves, its total never falls, and follows it modulo its range.
func FuzzEnergy(f *testing.F) {
	f.Add(uint64(5), uint64(9), uint64(2), uint64(10))
	f.Fuzz(func(t *testing.T, first, second, third, most uint64) {
		most = most%(1<<50) + 1
		z := zone{most: most}
		last := uint64(0)
		for _, now := range []uint64{first % most, second % most, third % most} {
			total := z.count(now)
			if total < last || total%most != now {
				t.Errorf("%d of %d makes %d after %d", now, most, total, last)
			}
			last = total
		}
	})
}
