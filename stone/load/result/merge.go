package result

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"loadstone.dev/stone/load/percentile"
	"loadstone.dev/stone/load/schedule"
)

// WorkerSummary is what one of several load workers did, how its clock stood against the coordinator's, and how fast its
// machine was. Counts and lateness are of the window.
type WorkerSummary struct {
	Number            int      `json:"number"`
	Name              string   `json:"name,omitempty"`
	Sent              int64    `json:"sent"`
	Completed         int64    `json:"completed"`
	P99Ms             *float64 `json:"p99_ms"` // from the intended send time, its own requests alone; null without any, or if a request without a good answer has that rank
	OwnLatenessP99    float64  `json:"own_lateness_p99_ms"`
	Connects          int64    `json:"connects"` // from before the start on
	CPUS              float64  `json:"cpu_s"`
	CPUShare          float64  `json:"cpu_share"`
	ClockOffsetUs     *float64 `json:"clock_offset_us"`     // how far its clock is ahead; null: not measured
	ClockErrorUs      *float64 `json:"clock_error_us"`      // the offset is right to within that, either way
	ReferenceBeforeMs *float64 `json:"reference_before_ms"` // time of the reference loop before and after the run; null likewise
	ReferenceAfterMs  *float64 `json:"reference_after_ms"`
}

// Merge adds up the parts of all workers of a run, each in a folder of its own, and writes summary.json and
// latency.hlog into the folder out, as one worker would have. It refuses what is not exactly one whole run. What a
// coordinator knows of the workers comes in `known`, by their numbers; without one it is nil.
func Merge(out string, folders []string, known []WorkerSummary) (*Summary, error) {
	for _, folder := range folders {
		if sameFolder(folder, out) {
			return nil, fmt.Errorf("%s is the folder of a part; its files would be overwritten; give another folder for the result", out)
		}
	}
	parts, folders, err := readParts(folders)
	if err != nil {
		return nil, err
	}
	for i, w := range known {
		if w.ClockOffsetUs != nil {
			parts[i].ahead = time.Duration(*w.ClockOffsetUs * 1e3)
		}
	}
	if err := agree(parts, folders); err != nil {
		return nil, err
	}
	whole, err := Sum(parts)
	if err != nil {
		return nil, err
	}
	summary, err := whole.Summary()
	if err != nil {
		return nil, err
	}
	summary.Generator.Workers = workerSummaries(parts, known)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	if err := mergeLogs(filepath.Join(out, LogFile), whole, parts, folders); err != nil {
		return nil, err
	}
	return summary, whole.Write(out, summary)
}

func sameFolder(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// readParts reads the parts, and returns them and their folders in the order of their numbers.
func readParts(folders []string) (parts []*Findings, sorted []string, err error) {
	if len(folders) == 0 {
		return nil, nil, errors.New("no folder of a part is named")
	}
	found := map[int]string{}
	byNumber := map[int]*Findings{}
	of := 0
	for _, folder := range folders {
		part, err := ReadPart(folder)
		if err != nil {
			return nil, nil, err
		}
		if first, twice := found[part.Part.Number]; twice {
			return nil, nil, fmt.Errorf("%s and %s are both part %d; give each part once", first, folder, part.Part.Number)
		}
		if of > 0 && part.Part.Of != of {
			return nil, nil, fmt.Errorf("%s is one of %d parts, %s is one of %d; they are of different runs", folders[0], of, folder, part.Part.Of)
		}
		of = part.Part.Of
		found[part.Part.Number], byNumber[part.Part.Number] = folder, part
	}
	var missing []string
	for number := range of {
		if byNumber[number] == nil {
			missing = append(missing, fmt.Sprint(number))
			continue
		}
		parts, sorted = append(parts, byNumber[number]), append(sorted, found[number])
	}
	if len(missing) > 0 {
		return nil, nil, fmt.Errorf("%d of %d parts: %s missing; give the folders of all", len(parts), of, strings.Join(missing, ", "))
	}
	return parts, sorted, nil
}

func ReadPart(folder string) (*Findings, error) {
	path := filepath.Join(folder, PartFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; a worker's folder has one if its plan has the key part", err)
	}
	f := &Findings{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.Schema != PartSchema {
		return nil, fmt.Errorf("%s: schema %d, this stone reads %d; use one version of stone", path, f.Schema, PartSchema)
	}
	return f, f.whole(path)
}

// began is the start, by the coordinator's clock if there was one.
func (f *Findings) began() time.Time { return f.Started.Add(-f.ahead) }

// whole verifies that nothing is missing that all else relies on, and that no histogram reaches further than those that
// it is added to, which drop what is beyond.
func (f *Findings) whole(path string) error {
	missing := !f.Lateness.within(highest) || !f.Rates.within(schedule.MostRate) || !f.LessOwn.within(highest) ||
		!f.Generator.OwnLateness.within(highest) || f.ToNs-f.FromNs < FailureBins || f.Part.Number < 0 || f.Part.Number >= f.Part.Of || f.Aborted != nil && f.Aborted.Violations > 0 && f.SLO == nil
	for _, k := range f.Kinds {
		missing = missing || !k.Intended.within(highest) || !k.Service.within(highest)
		for bin, count := range k.Unheard {
			missing = missing || bin < 0 || bin >= FailureBins || count < 0
		}
	}
	if missing {
		return fmt.Errorf("%s is not a whole part; run it again", path)
	}
	return nil
}

// agree verifies that the parts are those of one run.
func agree(parts []*Findings, folders []string) error {
	const together = time.Second
	for i, p := range parts[1:] {
		difference, err := parts[0].Differs(&p.Identity)
		if err != nil {
			return err
		}
		if difference != "" {
			return fmt.Errorf("%s and %s do not belong together: %s", folders[0], folders[i+1], difference)
		}
		if apart := p.began().Sub(parts[0].began()).Abs(); apart > together {
			return fmt.Errorf("%s and %s do not belong together: they began %s apart; give both plans the same start_unix_ns",
				folders[0], folders[i+1], apart.Round(time.Millisecond))
		}
	}
	return nil
}

// Sum adds up the parts of one run.
func Sum(parts []*Findings) (*Findings, error) {
	first := parts[0]
	plan, err := common(first.Plan)
	if err != nil {
		return nil, err
	}
	whole := &Findings{
		Schema: first.Schema, Part: Part{Number: 0, Of: 1}, Identity: Identity{Plan: plan}, Loop: first.Loop, SLO: first.SLO,
		WindowS: first.WindowS, FromNs: first.FromNs, ToNs: first.ToNs, TimeoutNs: first.TimeoutNs, Started: first.began(),
		Lateness: Histogram{Histogram: NewHistogram()}, Rates: Histogram{Histogram: NewRates()}, LessOwn: Histogram{Histogram: NewHistogram()},
		Generator: Effort{
			Wait: first.Generator.Wait, OwnLateness: Histogram{Histogram: NewHistogram()}, ThrottledS: new(0.0), RunDelayS: new(0.0), RunDelayShare: new(0.0),
		},
	}
	for _, p := range parts {
		whole.EndNs = max(whole.EndNs, p.EndNs)
		whole.SlowestNs = max(whole.SlowestNs, p.SlowestNs)
		whole.Planned += p.Planned
		whole.Offered += p.Offered
		whole.Lateness.Merge(p.Lateness.Histogram)
		whole.Answers += p.Answers
		whole.Rates.Merge(p.Rates.Histogram)
		whole.LessOwn.Merge(p.LessOwn.Histogram)
		for i := range whole.Batches {
			whole.Batches[i].Add(p.Batches[i])
		}
		for i := range whole.Series {
			whole.Series[i].Add(p.Series[i])
		}
		whole.Errors = append(whole.Errors, p.Errors...)
		whole.Connections.add(p.Connections)
		if p.Aborted != nil && (whole.Aborted == nil || p.Aborted.AtNs < whole.Aborted.AtNs) {
			whole.Aborted = p.Aborted
		}
		whole.Generator.add(&p.Generator)
		whole.Counted = whole.Counted.And(p.Counted)
		if p.SlotsMissed != nil {
			whole.SlotsMissed = new(*p.SlotsMissed + *cmp.Or(whole.SlotsMissed, new(int64)))
		}
		for i := range p.Kinds {
			whole.Kind(p.Kinds[i].Name).add(&p.Kinds[i])
		}
	}
	whole.Errors = Gather(whole.Errors)
	return whole, nil
}

// Kind returns what was found of a kind of requests, which may be new: each worker of a script meets them in an order
// of its own.
func (f *Findings) Kind(name string) *KindFindings {
	at := slices.IndexFunc(f.Kinds, func(k KindFindings) bool { return k.Name == name })
	if at < 0 {
		at = len(f.Kinds)
		f.Kinds = append(f.Kinds, KindFindings{
			Name: name, Intended: Histogram{Histogram: NewHistogram()}, Service: Histogram{Histogram: NewHistogram()}, Unheard: map[int]int64{},
		})
	}
	return &f.Kinds[at]
}

func (k *KindFindings) add(o *KindFindings) {
	k.Counts.Add(o.Counts)
	k.Good += o.Good
	k.Own.Add(o.Own)
	k.All.Sent += o.All.Sent
	k.All.Completed += o.All.Completed
	k.Intended.Merge(o.Intended.Histogram)
	k.Service.Merge(o.Service.Histogram)
	for bin, count := range o.Unheard {
		k.Unheard[bin] += count
	}
}

func (e *Effort) add(o *Effort) {
	e.CPUNs += o.CPUNs
	e.CPUShare = max(e.CPUShare, o.CPUShare)
	e.SendingNs += o.SendingNs
	e.SendingSent += o.SendingSent
	e.Sent += o.Sent
	e.Threads += o.Threads
	e.OwnLateness.Merge(o.OwnLateness.Histogram)
	e.ScriptStarved += o.ScriptStarved
	e.ScriptLost += o.ScriptLost
	e.Bytes += o.Bytes
	if o.RequestsLost != nil {
		e.RequestsLost = new(*o.RequestsLost + *cmp.Or(e.RequestsLost, new(int64)))
	}
	if !slices.Contains(strings.Split(e.Wait, ","), o.Wait) {
		e.Wait += "," + o.Wait
	}
	if e.ThrottledS == nil || o.ThrottledS == nil {
		e.ThrottledS = nil // one that is not known makes the sum unknown
	} else {
		e.ThrottledS = new(*e.ThrottledS + *o.ThrottledS)
	}
	e.RunDelayS, e.RunDelayShare = e.Waited(o.RunDelayS, o.RunDelayShare)
}

// Waited adds the time that other threads waited for a CPU, and keeps the largest share of one; what is not known of some
// is not known of all.
func (e *Effort) Waited(seconds, share *float64) (sum, most *float64) {
	if e.RunDelayS == nil || e.RunDelayShare == nil || seconds == nil || share == nil {
		return nil, nil
	}
	return new(*e.RunDelayS + *seconds), new(max(*e.RunDelayShare, *share))
}

func workerSummaries(parts []*Findings, known []WorkerSummary) []WorkerSummary {
	var list []WorkerSummary
	for i, p := range parts {
		w := WorkerSummary{}
		if known != nil {
			w = known[i]
		}
		w.Number, w.Connects = i, p.Connections.Connects
		w.OwnLatenessP99 = float64(percentile.Of(p.Generator.OwnLateness.Histogram, 99)) / 1e6
		w.CPUS, w.CPUShare = float64(p.Generator.CPUNs)/1e9, p.Generator.CPUShare
		latencies, answers := NewHistogram(), int64(0)
		for k := range p.Kinds {
			kind := &p.Kinds[k]
			w.Sent += kind.Counts.Sent
			w.Completed += kind.Counts.Completed
			latencies.Merge(p.unheard(kind))
			latencies.Merge(kind.Intended.Histogram)
			answers += kind.Intended.TotalCount()
		}
		if own := Summarize(latencies); own.Count > 0 && float64(answers) >= 0.99*float64(own.Count) { // else a lower bound
			w.P99Ms = &own.P99
		}
		list = append(list, w)
	}
	return list
}
