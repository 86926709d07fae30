package load

import (
	"fmt"
	"io"
	"math"
	"sync"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/export"
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/schedule"
)

// collector gathers the intervals of all threads: into the interval log, the totals and the progress lines.
type collector struct {
	catalogue *request.Catalogue
	schedule  schedule.Schedule
	recorders []*recorder
	log       *intervalLog
	progress  io.Writer           // which never blocks; nil: nobody watches
	conducted bool                // a coordinator watches
	offered   []schedule.Arrivals // for the progress lines, by thread; none for a closed loop
	start     int64               // of the last interval
	end       int64
	total     *interval // of all intervals so far, threads together
	intended  *hdr.Histogram
	service   *hdr.Histogram
	mutex     sync.Mutex // of total, for whoever wants a snapshot
}

func newCollector(r *run, log *intervalLog, progress io.Writer) *collector {
	c := &collector{
		catalogue: r.catalogue, schedule: r.schedule, log: log, progress: progress, conducted: r.conductor != nil,
		total: newInterval(0), intended: newHistogram(), service: newHistogram(),
	}
	for _, w := range r.workers {
		c.recorders = append(c.recorders, w.recorder)
		if r.plan.Closed == nil {
			c.offered = append(c.offered, schedule.Arrivals{Cursor: w.share()})
		}
	}
	return c
}

// run takes an interval from every thread at a time until all have ended.
func (c *collector) run() error {
	if c.progress != nil && !c.conducted && c.schedule.From == 0 { // else a line comes when the warm-up ends
		_ = (&Progress{Of: float64(c.schedule.To) / 1e9, Phase: "measure"}).Write(c.progress)
	}
	parts := make([]*interval, 0, len(c.recorders))
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
			c.end = max(c.end, part.end)
		}
		if err := c.collect(parts, c.start, c.end); err != nil {
			return err
		}
		for i, part := range parts {
			part.reset()
			select {
			case c.recorders[i].free <- part:
			default:
			}
		}
	}
}

func (c *collector) collect(parts []*interval, start, end int64) error {
	sum := parts[0]
	c.intended.Reset()
	c.service.Reset()
	for _, part := range parts[1:] {
		sum.merge(part)
	}
	for i := range c.offered {
		sum.sofar.offered += c.offered[i].Until(end)
	}
	c.mutex.Lock()
	c.total.merge(sum)
	c.total.sofar, c.total.busy = sum.sofar, sum.busy
	c.mutex.Unlock()
	for _, kind := range sum.kinds {
		c.intended.Merge(kind.intended)
		c.service.Merge(kind.service)
	}
	if c.progress != nil {
		c.report(sum, start, end)
	}
	if end <= c.schedule.From && sum.lateness.TotalCount() == 0 {
		return nil // warm-up
	}
	return c.write(sum, max(start, c.schedule.From), end)
}

// snapshot is what Prometheus is told.
func (c *collector) snapshot() export.Snapshot {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.total.sofar
	s := export.Snapshot{
		Offered: now.offered, Sent: now.sent, Completed: now.completed, InFlight: now.sent - now.answered,
		CPUShare: c.total.busy, Lateness: export.Distribute(c.total.lateness),
	}
	for op, kind := range c.catalogue.List()[:len(c.total.kinds)] {
		part := c.total.kinds[op]
		s.Operations = append(s.Operations, export.OperationSnapshot{
			Name: kind.Name, Errors: part.failed, Latency: export.Distribute(part.intended),
		})
	}
	return s
}

func (c *collector) write(sum *interval, start, end int64) error {
	for _, line := range []struct {
		tag       string
		histogram *hdr.Histogram
	}{{wholeTag, c.intended}, {"service", c.service}, {"lateness", sum.lateness}} {
		if err := c.log.write(line.histogram, line.tag, start, end); err != nil {
			return fmt.Errorf("interval log: %w", err)
		}
	}
	for op, kind := range c.catalogue.List()[:len(sum.kinds)] {
		if sum.kinds[op].intended.TotalCount() == 0 {
			continue
		}
		if err := c.log.write(sum.kinds[op].intended, intendedTag(kind.Name), start, end); err != nil {
			return fmt.Errorf("interval log: %w", err)
		}
	}
	return nil
}

// report prints a line of progress.
func (c *collector) report(sum *interval, start, end int64) {
	sum.warm.Merge(c.intended)
	p := Progress{
		T: math.Round(float64(end)/1e6) / 1e3, Of: float64(c.schedule.To) / 1e9, Phase: "measure",
		Offered: sum.sofar.offered, Sent: sum.sofar.sent, Completed: sum.sofar.completed, Errors: sum.sofar.errors,
		InFlight: sum.sofar.sent - sum.sofar.answered, CPUShare: math.Round(sum.busy*1e3) / 1e3,
	}
	if start < c.schedule.From {
		p.Phase = "warmup"
	} else if start >= c.schedule.To {
		p.Phase = "drain"
	}
	p.quantiles(sum.warm, sum.lateness)
	if c.conducted {
		p.Latency, p.Lateness = &histogram{sum.warm}, &histogram{sum.lateness}
	}
	_ = p.Write(c.progress)
}
