package load

import "testing"

// Auto is precise where that is cheap or needed, and never later than it may be.
func TestAutoWaits(t *testing.T) {
	for _, c := range []struct {
		rate    float64
		allowed int64
		want    waitPolicy
	}{
		{100, 0, precise}, {preciseBelow, 0, precise}, {preciseBelow + 1, 0, tick}, {50_000, 0, tick},
		{50_000, 1e6, tick}, {50_000, 150e3, precise}, {10_000, 500e3, precise}, {50_000, 50e3, spin}, {100, 50e3, spin},
	} {
		if have, length := waitPolicy("auto").choose(c.rate, c.allowed); have != c.want || length < 100e3 || length > 300e3 {
			t.Errorf("%g/s, %d ns allowed: %s, tick %d", c.rate, c.allowed, have, length)
		}
		for _, said := range []waitPolicy{precise, tick, spin} {
			if have, _ := said.choose(c.rate, c.allowed); have != said {
				t.Errorf("%s became %s", said, have)
			}
		}
	}
}
