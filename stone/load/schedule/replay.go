package schedule

import (
	"math"
	"sort"

	"loadstone.dev/stone/load/mistake"
)

// replay sends at the times of a trace. The measured window begins with the trace's first request; the warm-up
// before it plays the beginning of the trace too, stretched by the ramp.
type replay struct {
	offsets []int64 // ns since the trace's first request, ascending; shared by all cursors
	stretch float64 // factor on the trace's time: less than 1 is faster
	warmup  uint64  // requests of the warm-up
	from    float64 // where the measured window begins on the even scale, ns
}

// newReplay reads the trace of a plan; the second value is its mean rate as replayed, in requests/s.
func newReplay(a *Arrival, s *Schedule) (process, float64, error) {
	offsets, err := readTrace(a.File, a.Column)
	if err != nil {
		return nil, 0, err
	}
	// n requests are n-1 gaps; with one gap more the trace lasts as long as what it was recorded from.
	count := float64(len(offsets))
	lasts := float64(offsets[len(offsets)-1]) * count / (count - 1)
	if lasts == 0 {
		return nil, 0, mistake.New("arrival.file", "%s: all its %d times are equal; a trace needs some that differ", a.File, len(offsets))
	}
	stretch := 1 / orElse(a.Speed, 1)
	if a.Rate > 0 {
		stretch = count * 1e9 / a.Rate / lasts
	}
	if window := float64(s.To - s.From); lasts*stretch < window*(1-1e-9) {
		return nil, 0, mistake.New("arrival.file", "%s lasts %.4g s at %.4g times its speed, and duration_s is %.4g; measure for less, or replay it slower",
			a.File, lasts*stretch/1e9, 1/stretch, window/1e9)
	}
	r := replay{offsets: offsets, stretch: stretch, from: s.course.even(float64(s.From), 0)}
	r.warmup = uint64(sort.Search(len(offsets), func(i int) bool { return float64(offsets[i])*stretch >= r.from }))
	return r, count * 1e9 / (lasts * stretch), nil
}

func (r replay) due(_ *Cursor, n uint64) float64 {
	from := 0.0
	if n >= r.warmup {
		n, from = n-r.warmup, r.from
	}
	if n >= uint64(len(r.offsets)) {
		return math.Inf(1)
	}
	return from + float64(r.offsets[n])*r.stretch
}
