// Package percentile has the one definition of a percentile of recorded values: the smallest that at least so many
// percent of them do not exceed. HdrHistogram rounds the rank to the nearest where this definition rounds it up.
package percentile

import (
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// rounding is what q/100*count may be off by, relatively: q is seldom a binary fraction (99.9), and two operations round.
const rounding = 1e-15

// Rank is the place, from 1, of the q-th percentile among count values in ascending order; 0 of none.
func Rank(q float64, count int64) int64 {
	rank := math.Ceil(q / 100 * float64(count) * (1 - rounding))
	return min(max(int64(rank), 1), count)
}

// Of is the q-th percentile of what was recorded, as the highest value that its bin may stand for; 0 of none.
func Of(h *hdr.Histogram, q float64) int64 {
	return OfEach(h, q)[0]
}

// OfEach is several percentiles in one pass.
func OfEach(h *hdr.Histogram, qs ...float64) []int64 {
	count := h.TotalCount()
	shares := make([]float64, len(qs))
	for i, q := range qs {
		// The library adds 0.5 to a percentile's share of the count and cuts: a rank comes back as itself.
		shares[i] = 100 * float64(Rank(q, count)) / float64(max(count, 1))
	}
	return h.ValueAtPercentilesSlice(shares)
}
