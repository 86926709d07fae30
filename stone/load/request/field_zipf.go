package request

import (
	"math"
	"math/rand/v2"
	"strconv"

	"loadstone.dev/stone/load/mistake"
)

const (
	zipfTable = 1024 // up to so many ranks, a table; above, no memory
	zipfMost  = 1_000_000_000_000
)

// zipf is a rank k of 1 to n with a probability in proportion to k^-alpha: the number, or the value of that rank.
type zipf struct {
	n          int64
	values     [][]byte
	cumulative []float64 // small n
	ranks      zipfRanks // large n
}

func compileZipf(f *Field, key string, _ *fieldSet) (drawer, error) {
	switch {
	case (f.N != 0) == (f.Values != nil):
		return nil, mistake.New(key, "give either n (ranks 1 to n) or values (the most frequent first)")
	case f.Values != nil && len(f.Values) == 0:
		return nil, mistake.New(key+".values", "missing; give at least one")
	case f.N < 0 || f.N > zipfMost:
		return nil, mistake.New(key+".n", "%d is out of range; give 1 to %d", f.N, int64(zipfMost))
	case !(f.Alpha > 0 && f.Alpha <= 20):
		return nil, mistake.New(key+".alpha", "%g is out of range; give more than 0 and at most 20", f.Alpha)
	}
	z := zipf{n: f.N}
	if f.Values != nil {
		z.values, z.n = valuesOf(f), int64(len(f.Values))
	}
	if z.n > zipfTable {
		z.ranks = newZipfRanks(f.Alpha, z.n)
		return z, nil
	}
	total := 0.0
	for k := range z.n {
		total += math.Pow(float64(k+1), -f.Alpha)
		z.cumulative = append(z.cumulative, total)
	}
	return z, nil
}

func (z zipf) draw(v *values) int64 {
	var rank int64
	if z.cumulative != nil {
		rank = int64(pick(z.cumulative, v.random)) + 1
	} else {
		rank = z.ranks.draw(v.random)
	}
	if z.values != nil {
		v.text = append(v.text, z.values[rank-1]...)
	} else {
		v.text = strconv.AppendInt(v.text, rank, 10)
	}
	return rank
}

func (z zipf) width() int {
	if z.values != nil {
		return longest(z.values)
	}
	return len(strconv.FormatInt(z.n, 10))
}

// zipfRanks draws Zipf ranks in constant time and memory by rejection-inversion: W. Hörmann, G. Derflinger,
// "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996.
// A point under the continuous hat x^-alpha is drawn by inverting its integral, and rounded to a rank; it is
// kept if it lies within the rank's own bar.
type zipfRanks struct {
	alpha, n  float64
	low, high float64 // the hat's integral, from the left edge of rank 1's bar to n + 1/2
	near      float64 // a point this close below its rank is always within the bar
}

func newZipfRanks(alpha float64, n int64) zipfRanks {
	z := zipfRanks{alpha: alpha, n: float64(n)}
	z.low, z.high = z.integral(1.5)-1, z.integral(z.n+0.5)
	z.near = 2 - z.inverse(z.integral(2.5)-math.Pow(2, -alpha))
	return z
}

func (z *zipfRanks) draw(random *rand.Rand) int64 {
	for {
		u := z.high + random.Float64()*(z.low-z.high)
		x := z.inverse(u)
		rank := min(max(math.Floor(x+0.5), 1), z.n)
		if rank-x <= z.near || u >= z.integral(rank+0.5)-math.Pow(rank, -z.alpha) {
			return int64(rank)
		}
	}
}

// integral is that of t^-alpha from 1 to x, exact also where alpha is near 1.
func (z *zipfRanks) integral(x float64) float64 {
	log := math.Log(x)
	if t := (1 - z.alpha) * log; math.Abs(t) > 1e-8 {
		return log * math.Expm1(t) / t
	}
	return log
}

// inverse is the x whose integral is u.
func (z *zipfRanks) inverse(u float64) float64 {
	t := max(u*(1-z.alpha), -1) // below -1 by rounding alone
	if math.Abs(t) > 1e-8 {
		return math.Exp(u * math.Log1p(t) / t)
	}
	return math.Exp(u)
}
