package load

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"loadstone.dev/stone/load/schedule"
)

// WindowMark is a line among those of progress: the measured window begins, or ends, now.
type WindowMark struct {
	Window string `json:"window"` // begin or end
	UnixNs int64  `json:"unix_ns"`
}

// MarkWindow writes a WindowMark when the window of a run that starts at `start` begins and when it ends, for readers of
// counters: lines of progress come when the threads, or several load workers, have got that far. It stops with the
// function that it returns. Of a loop that ends by its number of requests, the run itself marks the window.
func MarkWindow(p *Plan, start time.Time, to io.Writer) (stop func()) {
	if to == nil || p.counted() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	from := start.Add(schedule.Seconds(p.WarmupS))
	go func() {
		defer close(ended)
		_ = mark(ctx, "begin", from, to) && mark(ctx, "end", from.Add(schedule.Seconds(p.DurationS)), to)
	}()
	return func() { cancel(); <-ended }
}

// mark writes one mark in time; false if ctx has ended before.
func mark(ctx context.Context, edge string, at time.Time, to io.Writer) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case now := <-timer.C:
		WriteMark(edge, now, to)
		return true
	}
}

// WriteMark writes one mark.
func WriteMark(edge string, at time.Time, to io.Writer) {
	line, _ := json.Marshal(WindowMark{edge, at.UnixNano()})
	_, _ = to.Write(append(line, '\n'))
}

// marker is what announces the edges of the window of a loop that ends by its number of requests; of others their
// schedule does.
func (r *run) marker(progress io.Writer) func(edge string) {
	switch {
	case r.plan.counted() && r.conductor != nil:
		return r.conductor.Mark
	case r.plan.counted() && progress != nil:
		return func(edge string) { WriteMark(edge, time.Now(), progress) }
	}
	return func(string) {}
}
