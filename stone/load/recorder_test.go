package load

import (
	"slices"
	"testing"
)

// Slivers of a second, at the window's end or where a run was stopped, are no seconds.
func TestRatesAreOfWholeSeconds(t *testing.T) {
	plan := &Plan{TimeoutS: 5}
	from := int64(0.3e9)
	r := newRecorder(plan, schedule{from: from, to: from + 3.4e9}, 1)
	for at := from; at < from+3.4e9; at += 1e7 { // 100 a second, the first of them due before the window
		r.answeredWell(&exchange{at: at - 1e6, sentAt: at - 1e6, measured: true}, at)
	}
	if !slices.Equal(r.perSecond, []int64{100, 100, 100}) {
		t.Errorf("answers by second: %v", r.perSecond)
	}
	for _, c := range []struct{ end, seconds int64 }{{9e9, 3}, {from + 3e9, 3}, {from + 2.999e9, 2}, {from + 0.7e9, 0}} {
		rates := newRates()
		r.rates(rates, c.end)
		if rates.TotalCount() != c.seconds || c.seconds > 0 && (rates.Min() != 100 || rates.Max() != 100) {
			t.Errorf("ended at %d: %d seconds, %d to %d", c.end, rates.TotalCount(), rates.Min(), rates.Max())
		}
	}
}
