package load

import (
	"fmt"
	"io"
	"math"
	"sync"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/export"
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/result"
	"loadstone.dev/stone/load/schedule"
)

// collector gathers the intervals of all threads: into the interval log, the totals and the progress lines.
type collector struct {
	catalogue *request.Catalogue
	schedule  schedule.Schedule
	recorders []*recorder
	log       *result.IntervalLog
	progress  io.Writer           // never blocks; nil: progress is not reported
	conducted bool                // a coordinator watches
	planned   int64               // requests that the run ends by, `warm` included; 0: it ends by the time
	warm      int64               // uncounted requests before those that count
	offered   []schedule.Arrivals // for the progress lines, by thread; none for a closed loop
	start     int64               // when the last interval began
	end       int64
	total     *result.Interval // sum of all intervals so far, over all threads
	intended  *hdr.Histogram
	service   *hdr.Histogram
	mutex     sync.Mutex // guards total, which Snapshot reads
}

func newCollector(r *run, log *result.IntervalLog, progress io.Writer) *collector {
	c := &collector{
		catalogue: r.catalogue, schedule: r.schedule, log: log, progress: progress, conducted: r.conductor != nil,
		total: result.NewInterval(0), intended: result.NewHistogram(), service: result.NewHistogram(),
	}
	if r.plan.counted() {
		for _, t := range r.threads {
			for i := range t.clients {
				c.warm += t.clients[i].warm
			}
		}
		c.planned = r.planned + c.warm
	}
	for _, t := range r.threads {
		c.recorders = append(c.recorders, t.recorder)
		if r.plan.Closed == nil {
			c.offered = append(c.offered, schedule.Arrivals{Cursor: t.share()})
		}
	}
	return c
}

// run takes an interval from every thread at a time until all have ended.
func (c *collector) run() error {
	if c.progress != nil && !c.conducted && c.schedule.From == 0 && c.planned == 0 { // else a line comes when the warm-up ends
		_ = (&result.Progress{Of: float64(c.schedule.To) / 1e9, Phase: "measure"}).Write(c.progress)
	}
	parts := make([]*result.Interval, 0, len(c.recorders))
	for {
		parts = parts[:0]
		for _, r := range c.recorders {
			if part, open := <-r.full; open {
				parts = append(parts, part)
			}
		}
		if len(parts) == 0 {
			return nil
		}
		c.start = c.end
		for _, part := range parts {
			c.end = max(c.end, part.End)
		}
		if err := c.collect(parts, c.start, c.end); err != nil {
			return err
		}
		for i, part := range parts {
			part.Reset()
			select {
			case c.recorders[i].free <- part:
			default:
			}
		}
	}
}

func (c *collector) collect(parts []*result.Interval, start, end int64) error {
	sum := parts[0]
	c.intended.Reset()
	c.service.Reset()
	for _, part := range parts[1:] {
		sum.Merge(part)
	}
	for i := range c.offered {
		sum.Totals.Offered += c.offered[i].Until(end)
	}
	c.mutex.Lock()
	c.total.Merge(sum)
	c.total.Totals, c.total.Busy = sum.Totals, sum.Busy
	c.mutex.Unlock()
	for _, kind := range sum.Kinds {
		c.intended.Merge(kind.Intended)
		c.service.Merge(kind.Service)
	}
	if c.progress != nil {
		c.report(sum, start, end)
	}
	if end <= c.schedule.From && sum.Lateness.TotalCount() == 0 {
		return nil // warm-up
	}
	return c.write(sum, max(start, c.schedule.From), end)
}

// snapshot is what Prometheus scrapes.
func (c *collector) snapshot() export.Snapshot {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.total.Totals
	s := export.Snapshot{
		Offered: now.Offered, Sent: now.Sent, Completed: now.Completed, InFlight: now.Sent - now.Answered,
		CPUShare: c.total.Busy, Lateness: export.Distribute(c.total.Lateness),
	}
	for op, kind := range c.catalogue.List()[:len(c.total.Kinds)] {
		part := c.total.Kinds[op]
		s.Operations = append(s.Operations, export.OperationSnapshot{
			Name: kind.Name, Errors: part.Failed, Latency: export.Distribute(part.Intended),
		})
	}
	return s
}

func (c *collector) write(sum *result.Interval, start, end int64) error {
	for _, line := range []struct {
		tag       string
		histogram *hdr.Histogram
	}{{result.WholeTag, c.intended}, {"service", c.service}, {"lateness", sum.Lateness}} {
		if err := c.log.Write(line.histogram, line.tag, start, end); err != nil {
			return fmt.Errorf("interval log: %w", err)
		}
	}
	for op, kind := range c.catalogue.List()[:len(sum.Kinds)] {
		if sum.Kinds[op].Intended.TotalCount() == 0 {
			continue
		}
		if err := c.log.Write(sum.Kinds[op].Intended, result.IntendedTag(kind.Name), start, end); err != nil {
			return fmt.Errorf("interval log: %w", err)
		}
	}
	return nil
}

// report prints a line of progress.
func (c *collector) report(sum *result.Interval, start, end int64) {
	sum.Warm.Merge(c.intended)
	p := result.Progress{
		T: math.Round(float64(end)/1e6) / 1e3, Of: float64(c.schedule.To) / 1e9, Phase: "measure",
		Offered: sum.Totals.Offered, Sent: sum.Totals.Sent, Completed: sum.Totals.Completed, Errors: sum.Totals.Errors,
		InFlight: sum.Totals.Sent - sum.Totals.Answered, CPUShare: math.Round(sum.Busy*1e3) / 1e3,
	}
	if c.planned > 0 {
		p.From, p.Counted, p.Planned = float64(c.schedule.From)/1e9, sum.Totals.Counted, c.planned
		p.Extrapolate()
	}
	if start < c.schedule.From || sum.Totals.Counted < c.warm {
		p.Phase = "warmup"
	} else if start >= c.schedule.To {
		p.Phase = "drain"
	}
	p.Quantiles(sum.Warm, sum.Lateness)
	if c.conducted {
		p.Latency, p.Lateness = &result.Histogram{Histogram: sum.Warm}, &result.Histogram{Histogram: sum.Lateness}
	}
	_ = p.Write(c.progress)
}
