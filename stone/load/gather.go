package load

import (
	"fmt"
	"path/filepath"
	"strings"

	"loadstone.dev/stone/load/result"
	"loadstone.dev/stone/load/schedule"
)

// findings gathers what the threads found; it fails if a request of the schedule is not accounted for.
func (r *run) findings(o offers, c *collector) (*result.Findings, error) {
	total := c.total
	f := &result.Findings{
		Schema: result.PartSchema, Part: r.plan.part(), Identity: r.identity, Loop: r.plan.loop(), SLO: r.plan.SLO,
		WindowS: r.plan.DurationS, FromNs: r.schedule.From, ToNs: r.schedule.To, TimeoutNs: int64(schedule.Seconds(r.plan.TimeoutS)),
		Started: r.clock.start, EndNs: r.end, Planned: r.planned, Offered: o.total,
		Lateness: result.Histogram{Histogram: total.Lateness}, Rates: result.Histogram{Histogram: result.NewRates()},
		LessOwn: result.Histogram{Histogram: result.NewHistogram()}, Generator: r.effort(),
	}
	for op, kind := range r.catalogue.List() {
		k, unscheduled := r.kindFindings(op, kind.Name, total)
		f.Offered += unscheduled
		if op < len(o.byKind) && k.Counts.Offered != o.byKind[op]+unscheduled {
			return nil, fmt.Errorf("accounting: %s: the schedule has %d, %d are accounted for; this is a defect of stone",
				kind.Name, o.byKind[op]+unscheduled, k.Counts.Offered)
		}
		f.Kinds = append(f.Kinds, k)
	}
	for i := range f.Batches {
		f.Batches[i].Offered = o.batches[i]
	}
	missed := int64(0)
	for _, thread := range r.threads {
		f.SlowestNs = max(f.SlowestNs, thread.recorder.slowest)
		if thread.recorder.lessOwn != nil {
			f.LessOwn.Merge(thread.recorder.lessOwn)
		}
		for i := range f.Batches {
			f.Batches[i].Add(result.Tenth{
				Offered: thread.recorder.offered[i], Answered: thread.recorder.answered[i], Completed: thread.recorder.completed[i], Relieved: thread.recorder.relieved[i],
			})
		}
		for i := range f.Series {
			f.Series[i].Add(thread.recorder.series[i])
		}
		f.Answers += thread.recorder.whole
		thread.recorder.rates(f.Rates.Histogram, thread.end)
		if found := thread.recorder.counted; found != nil && found.ToNs > 0 {
			f.Counted = f.Counted.And(found)
		}
		missed += thread.recorder.missed
	}
	if closed := r.plan.Closed; closed != nil && closed.Pace > 0 {
		f.SlotsMissed = &missed
	}
	f.Errors, f.Connections = r.errors(), r.connections()
	if at := r.control.aborted.Load(); at > 0 {
		f.Aborted = &result.Abort{AtNs: at, Violations: r.control.violation.Load()}
	}
	return f, nil
}

// kindFindings gathers one kind, and says how many of its requests no schedule knew beforehand.
func (r *run) kindFindings(op int, name string, total *result.Interval) (k result.KindFindings, unscheduled int64) {
	latencies := total.Of(int32(op))
	k = result.KindFindings{
		Name: name, Unheard: map[int]int64{},
		Intended: result.Histogram{Histogram: latencies.Intended}, Service: result.Histogram{Histogram: latencies.Service},
	}
	var t tally
	for _, thread := range r.threads {
		if op >= len(thread.recorder.tallies) {
			continue
		}
		t.add(thread.recorder.tallies[op])
		for bin, count := range thread.recorder.unheard[op] {
			if count > 0 {
				k.Unheard[bin] += count
			}
		}
	}
	k.Counts, k.Good, k.All, k.Own = t.counts(), t.good, t.all, t.own
	return k, t.offered
}

// counts is the outcome of every request of a kind.
func (t *tally) counts() result.Counts {
	return result.Counts{
		Offered: t.completed + t.late + t.errors + t.timeouts + t.unsent + t.inFlight,
		Sent:    t.sent, Completed: t.completed, Late: t.late, Errors: t.errors, Timeouts: t.timeouts, Unsent: t.unsent,
		InFlight: t.inFlight, Skipped: t.skipped, Abandoned: t.abandoned,
	}
}

// errors lists the kinds of errors of all threads.
func (r *run) errors() []result.ErrorSummary {
	var list []result.ErrorSummary
	kinds := r.catalogue.List()
	for _, thread := range r.threads {
		for f, failure := range thread.recorder.failures {
			list = append(list, result.ErrorSummary{
				Kind: f.cause.Error(), Operation: kinds[f.op].Name, Count: failure.count, Example: strings.ToValidUTF8(failure.example, "\uFFFD"),
			})
		}
	}
	return result.Gather(list)
}

func (r *run) effort() result.Effort {
	e := result.Effort{
		CPUNs: r.cpu, Wait: string(r.threads[0].policy), Threads: r.plan.Threads, OwnLateness: result.Histogram{Histogram: result.NewHistogram()},
		ThrottledS: r.throttled.seconds(), RunDelayS: new(0.0), RunDelayShare: new(0.0),
	}
	for _, thread := range r.threads {
		e.OwnLateness.Merge(thread.recorder.own)
		e.Sent += thread.recorder.now.Totals.Sent
		e.CPUShare = max(e.CPUShare, thread.usage.share())
		e.SendingNs += thread.usage.busyTo - thread.usage.busyFrom
		e.SendingSent += thread.usage.sentTo - thread.usage.sentFrom
		e.ScriptStarved += thread.starved
		e.ScriptLost += thread.answersLost
		e.Bytes += thread.usage.bytesTo - thread.usage.bytesFrom
		e.RunDelayS, e.RunDelayShare = e.Waited(thread.usage.runDelay())
	}
	return e
}

// conclude writes the results: the end of the log, the summary and, for one of several workers, its part.
func (r *run) conclude(o offers, c *collector, files *outputs) (*result.Findings, *result.Summary, error) {
	found, err := r.findings(o, c)
	if err != nil {
		return nil, nil, err
	}
	if found.Generator.RequestsLost, err = files.closeRequests(); err != nil {
		return nil, nil, err
	}
	summary, err := found.Summary()
	if err != nil {
		return nil, nil, err
	}
	if r.plan.Part != nil { // how slow the slowest answer was, only all workers know together
		err = result.WriteJSON(filepath.Join(files.dir, result.PartFile), found)
	} else {
		err = c.log.WriteUnheard(found, max(c.start, found.FromNs), c.end)
	}
	if err == nil {
		err = files.finish(found, summary)
	}
	return found, summary, err
}
