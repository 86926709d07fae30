package result

import (
	"encoding/json"
	"io"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Progress is one line of progress: counts since the start, and the latencies of the last interval in ms, the warm-up
// included; null where the interval had none.
type Progress struct {
	T           float64  `json:"t"`  // s from the start
	Of          float64  `json:"of"` // when the window ends; estimated where it ends by a number of requests, 0 if unknown
	Phase       string   `json:"phase"`
	Offered     int64    `json:"offered"`
	Sent        int64    `json:"sent"`
	Completed   int64    `json:"completed"`
	Errors      int64    `json:"errors"`
	P50         *float64 `json:"p50_ms"`
	P99         *float64 `json:"p99_ms"`
	LatenessP99 *float64 `json:"lateness_p99_ms"`
	InFlight    int64    `json:"in_flight"`
	CPUShare    float64  `json:"cpu_share"`

	From    float64 `json:"from,omitempty"`    // when the requests begin that are counted here
	Counted int64   `json:"counted,omitempty"` // how many of those have their outcome
	Planned int64   `json:"planned,omitempty"` // how many there will be; 0: the window ends by the time

	Latency  *Histogram `json:"latency,omitempty"` // the interval's latencies; a coordinator adds them up
	Lateness *Histogram `json:"lateness,omitempty"`
}

// Quantiles fills in what follows from the distributions.
func (p *Progress) Quantiles(latency, lateness *hdr.Histogram) {
	p.P50, p.P99, p.LatenessP99 = inMsOrNil(latency, 50), inMsOrNil(latency, 99), inMsOrNil(lateness, 99)
}

// Extrapolate estimates the end of a window that ends by a number of requests.
func (p *Progress) Extrapolate() {
	if p.Of = 0; p.Counted > 0 {
		p.Of = p.From + (p.T-p.From)*float64(p.Planned)/float64(p.Counted)
	}
}

// Write prints the line.
func (p *Progress) Write(to io.Writer) error {
	line, err := json.Marshal(p)
	if err == nil {
		_, err = to.Write(append(line, '\n'))
	}
	return err
}

// MergeProgress makes one line of those of several workers: their last ones, or only their counts if they have ended.
func MergeProgress(lines []Progress) Progress {
	sum, latency, lateness := Progress{}, NewHistogram(), NewHistogram()
	for i, p := range lines {
		if i == 0 || p.T > sum.T {
			sum.T, sum.Of, sum.Phase, sum.From = p.T, p.Of, p.Phase, p.From
		}
		sum.Counted += p.Counted
		sum.Planned += p.Planned
		sum.Offered += p.Offered
		sum.Sent += p.Sent
		sum.Completed += p.Completed
		sum.Errors += p.Errors
		sum.InFlight += p.InFlight
		sum.CPUShare = max(sum.CPUShare, p.CPUShare)
		if p.Latency != nil {
			latency.Merge(p.Latency.Histogram)
		}
		if p.Lateness != nil {
			lateness.Merge(p.Lateness.Histogram)
		}
	}
	if sum.Planned > 0 {
		sum.Extrapolate()
	}
	sum.Quantiles(latency, lateness)
	return sum
}

// inMsOrNil is a percentile in ms, nil if nothing was recorded.
func inMsOrNil(h *hdr.Histogram, p float64) *float64 {
	if h.TotalCount() == 0 {
		return nil
	}
	return new(InMs(h, p)[0])
}
