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
		for _, policy := range []waitPolicy{precise, tick, spin} {
			if have, _ := policy.choose(c.rate, c.allowed); have != policy {
				t.Errorf("%s became %s", policy, have)
			}
		}
	}
}

// Runs of one study wait alike, whatever their rates.
func TestOneWaitForAllRates(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	for _, own := range []float64{100, 10_000} {
		keys := map[string]any{"arrival": rate("constant", own), "duration_s": 0.1, "threads": 2}
		for wanted, want := range map[float64]string{0: "precise", 5_000: "tick", 3_000: "precise"} {
			if own > 2*preciseBelow && wanted == 0 {
				want = "tick"
			}
			keys["wait_rate"] = wanted
			if summary, _ := drive(t, s.plan(t, keys)); summary.Generator.Wait != want {
				t.Errorf("%g/s, wait chosen for %g: %s", own, wanted, summary.Generator.Wait)
			}
		}
	}
}
