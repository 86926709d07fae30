package result

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"

	"loadstone.dev/stone/load/export"
)

// IterationsFile has a row for each iteration of each client, where a closed loop ends by its number of requests.
const IterationsFile = "iterations.parquet"

// Counted is the window of a closed loop that ends by its number of requests: from the first of them that was due to the
// last outcome, ns from the start, and the iterations that clients completed.
type Counted struct {
	FromNs     int64       `json:"from_ns"`
	ToNs       int64       `json:"to_ns"`
	Iterations []Iteration `json:"iterations"`
}

// Iteration is a number of requests that one client sent one after the other: from when the first was due to the outcome
// of the last, ns from the start. Clients and iterations count from 1.
type Iteration struct {
	Client    int64 `json:"client"`
	Number    int64 `json:"number"`
	StartNs   int64 `json:"start_ns"`
	EndNs     int64 `json:"end_ns"`
	Requests  int64 `json:"requests"`
	Errors    int64 `json:"errors"`     // requests without a good answer
	LatencyNs int64 `json:"latency_ns"` // the sum over the good answers
}

// IterationsSummary is of all iterations of all clients; sd_s is null of a single one.
type IterationsSummary struct {
	Count  int64    `json:"count"`
	TotalS float64  `json:"total_s"`
	MeanS  float64  `json:"mean_s"`
	SdS    *float64 `json:"sd_s"`
}

// And brings what two threads or workers found together; either may be nil.
func (c *Counted) And(o *Counted) *Counted {
	if c == nil || o == nil {
		return cmp.Or(c, o)
	}
	return &Counted{min(c.FromNs, o.FromNs), max(c.ToNs, o.ToNs), slices.Concat(c.Iterations, o.Iterations)}
}

// begins is when the measured window began, s from the start.
func (f *Findings) begins() float64 {
	if f.Counted != nil {
		return float64(f.Counted.FromNs) / 1e9
	}
	return float64(f.FromNs) / 1e9
}

// window is how long it was, in s.
func (f *Findings) window() float64 {
	if f.Counted != nil {
		return float64(max(f.Counted.ToNs-f.Counted.FromNs, 1)) / 1e9
	}
	return f.WindowS
}

func (c *Counted) summary() *IterationsSummary {
	if c == nil || len(c.Iterations) == 0 {
		return nil
	}
	s := &IterationsSummary{Count: int64(len(c.Iterations))}
	for _, i := range c.Iterations {
		s.TotalS += i.seconds()
	}
	if s.MeanS = s.TotalS / float64(s.Count); s.Count == 1 {
		return s
	}
	squares := 0.0
	for _, i := range c.Iterations {
		squares += (i.seconds() - s.MeanS) * (i.seconds() - s.MeanS)
	}
	s.SdS = new(math.Sqrt(squares / float64(s.Count-1)))
	return s
}

func (i *Iteration) seconds() float64 { return float64(i.EndNs-i.StartNs) / 1e9 }

// write puts the table of iterations into a folder.
func (c *Counted) write(dir string) error {
	if c == nil {
		return nil
	}
	rows := make([]export.Iteration, 0, len(c.Iterations))
	for _, i := range c.Iterations {
		row := export.Iteration{
			Client: int32(i.Client), Iteration: int32(i.Number), StartS: float64(i.StartNs-c.FromNs) / 1e9, DurationS: i.seconds(),
			Requests: i.Requests, Errors: i.Errors,
		}
		if good := i.Requests - i.Errors; good > 0 {
			row.MeanMs = new(float64(i.LatencyNs) / float64(good) / 1e6)
		}
		rows = append(rows, row)
	}
	return export.Iterations(filepath.Join(dir, IterationsFile), rows)
}
