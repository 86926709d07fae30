package result

import (
	"fmt"
	"math"
	"testing"
)

// Of 983 values the P99 is the 974th: fewer do not exceed less than 99 % of them.
func TestPercentilesOfASummary(t *testing.T) {
	h := NewHistogram()
	for i := range int64(983) {
		if err := h.RecordValue((i + 1) * 10_000_000); err != nil {
			t.Fatal(err)
		}
	}
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.001*want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	near("P99", Summarize(h).P99, 9740)
	near("progress' P99", *inMsOrNil(h, 99), 9740)
	e := Effort{OwnLateness: Histogram{Histogram: h}}
	near("the own lateness' P99", e.summary(1, nil).OwnLatenessP99, 9740)
	at := map[string]float64{}
	for _, point := range spectrum(h, NewHistogram()) {
		at[fmt.Sprintf("%g", point[0])] = point[1]
	}
	for _, q := range []float64{1, 58, 95, 97, 99, 99.3, 99.9, 99.95, 99.99, 99.997, 99.999} {
		near(fmt.Sprintf("the spectrum's P%g", q), at[fmt.Sprintf("%g", q)], 10*math.Ceil(q*9.83))
	}
}
