package load

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"loadstone.dev/stone/load/export"
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/result"
	"loadstone.dev/stone/load/schedule"
)

// Rates are of answers of any status that came within the window. Slivers of a second, at its end or where a run was
// stopped, are no seconds.
func TestRatesAreOfWholeSeconds(t *testing.T) {
	plan := &Plan{TimeoutS: 5}
	from := int64(0.3e9)
	r := newRecorder(plan, schedule.Schedule{From: from, To: from + 3.4e9}, 1)
	for at := from; at < from+5e9; at += 2e7 { // 100 a second, the first of them due before the window, the last after it
		r.answeredWell(&exchange{at: at - 1e6, sentAt: at - 1e6, measured: true}, at)
		r.failed(&exchange{at: at - 1e6, sentAt: at - 1e6, measured: true, status: 500}, at, errors.New("status 500"), nil)
		r.failed(&exchange{at: at - 1e6, sentAt: at - 1e6, measured: true}, at, request.ErrNoAnswer, nil)
	}
	if !slices.Equal(r.perSecond, []int64{100, 100, 100}) || r.whole != 340 {
		t.Errorf("%d answers, by second: %v", r.whole, r.perSecond)
	}
	for _, c := range []struct{ end, seconds int64 }{{9e9, 3}, {from + 3e9, 3}, {from + 2.999e9, 2}, {from + 0.7e9, 0}} {
		rates := result.NewRates()
		r.rates(rates, c.end)
		if rates.TotalCount() != c.seconds || c.seconds > 0 && (rates.Min() != 100 || rates.Max() != 100) {
			t.Errorf("ended at %d: %d seconds, %d to %d", c.end, rates.TotalCount(), rates.Min(), rates.Max())
		}
	}
}

// Prometheus gets counts from the start of the run and latencies of the measured window.
func TestSnapshotsLatenciesLeaveOutTheWarmUp(t *testing.T) {
	s := schedule.Schedule{From: 1e9, To: 2e9}
	r := newRecorder(&Plan{TimeoutS: 5}, s, 1)
	c := &collector{catalogue: request.NewCatalogue(), schedule: s, total: result.NewInterval(1), intended: result.NewHistogram(), service: result.NewHistogram()}
	c.catalogue.Add(request.NewKind("home"))
	r.answeredWell(&exchange{at: 5e8, sentAt: 5e8}, 6e8)
	r.answeredWell(&exchange{at: 1e9, sentAt: 1e9, measured: true}, 1e9+7e6)
	if err := c.collect([]*result.Interval{r.now}, 0, 1e9); err != nil {
		t.Fatal(err)
	}
	one := result.NewHistogram()
	result.Record(one, 7e6, 1)
	if now := c.snapshot(); now.Completed != 2 || !reflect.DeepEqual(now.Operations[0].Latency, export.Distribute(one)) {
		t.Errorf("%+v", now)
	}
}
