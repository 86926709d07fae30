package workers

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Whatever the delays of both ways, the true offset lies within the bound, and the bound is half the quickest answer.
func TestClockOffsetIsWithinItsBound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		truth := time.Duration(random.Int64N(2e12) - 1e12)
		now, quickest := time.Now().UnixNano(), time.Duration(1<<62)
		exchanges := make([]exchange, 1+random.IntN(pings))
		for i := range exchanges {
			there, back := time.Duration(random.ExpFloat64()*1e6), time.Duration(random.ExpFloat64()*1e5)
			exchanges[i] = exchange{now, there + back, now + int64(there+truth)}
			quickest = min(quickest, there+back)
			now += random.Int64N(1e9)
		}
		offset, bound := ahead(exchanges)
		if off := (offset - truth).Abs(); off > bound || bound > quickest/2+1 {
			t.Fatalf("ahead by %v: estimated %v within %v, the quickest answer took %v", truth, offset, bound, quickest)
		}
	}
}
