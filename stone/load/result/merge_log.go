package result

import (
	"fmt"
	"os"
	"path/filepath"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// partLog reads the interval log of one part, a histogram at a time.
type partLog struct {
	path    string
	file    *os.File
	reader  *hdr.HistogramLogReader
	started int64          // when the run started, ms since the epoch by the worker's clock
	from    int64          // when the window begins, ms from the start
	next    *hdr.Histogram // nil: there are no more
	count   int64          // latencies from the intended time so far
}

func openPartLog(folder string, part *Findings) (*partLog, error) {
	l := &partLog{path: filepath.Join(folder, LogFile), started: part.Started.UnixMilli(), from: part.FromNs / 1e6}
	var err error
	if l.file, err = os.Open(l.path); err != nil {
		return nil, err
	}
	l.reader = hdr.NewHistogramLogReader(l.file)
	return l, l.step()
}

// step reads the next histogram.
func (l *partLog) step() error {
	if l.next != nil && l.next.Tag() == WholeTag {
		l.count += l.next.TotalCount()
	}
	var err error
	if l.next, err = l.reader.NextIntervalHistogram(); err != nil {
		return fmt.Errorf("%s: %w", l.path, err)
	}
	return nil
}

// second is which second of the window the next histogram is of. An interval begins when the one before it was
// written, which is a little after a whole second; the log's times are cut to ms.
func (l *partLog) second() int64 {
	const cut = 2
	return max(l.next.StartTimeMs()-l.started-l.from+cut, 0) / 1000
}

// tagged adds up the histograms of one second by their tags.
type tagged struct {
	second     int64
	start, end int64 // ms from the start
	tags       []string
	sums       map[string]*hdr.Histogram
}

func (t *tagged) add(h *hdr.Histogram, started int64) error {
	if t.sums == nil {
		t.sums, t.start = map[string]*hdr.Histogram{}, h.StartTimeMs()-started
	}
	t.start, t.end = min(t.start, h.StartTimeMs()-started), max(t.end, h.EndTimeMs()-started)
	if t.sums[h.Tag()] == nil {
		t.tags, t.sums[h.Tag()] = append(t.tags, h.Tag()), NewHistogram()
	}
	if dropped := t.sums[h.Tag()].Merge(h); dropped > 0 {
		return fmt.Errorf("%d values of %q are beyond %d ns; use one version of stone", dropped, h.Tag(), highest)
	}
	return nil
}

// mergeLogs merges the logs of all parts, second by second and tag by tag, in memory for one second.
func mergeLogs(path string, whole *Findings, parts []*Findings, folders []string) error {
	var logs []*partLog
	for i, part := range parts {
		l, err := openPartLog(folders[i], part)
		if l != nil && l.file != nil {
			defer l.file.Close()
		}
		if err != nil {
			return err
		}
		logs = append(logs, l)
	}
	merged, err := NewIntervalLog(path, whole.Started)
	if err != nil {
		return err
	}
	last, err := copyLogs(merged, logs)
	if err == nil {
		err = matches(logs, parts, folders)
	}
	if err == nil {
		err = merged.WriteUnheard(whole, last.start*1e6, last.end*1e6)
	}
	if err == nil {
		err = merged.Finish()
	}
	if err != nil {
		merged.Discard()
	}
	return err
}

// copyLogs writes the sums of all logs and returns those of the last second.
func copyLogs(to *IntervalLog, logs []*partLog) (last tagged, err error) {
	for {
		now := tagged{second: -1}
		for _, l := range logs {
			if l.next != nil && (now.second < 0 || l.second() < now.second) {
				now.second = l.second()
			}
		}
		if now.second < 0 {
			return last, nil
		}
		for _, l := range logs {
			for l.next != nil && l.second() == now.second {
				if err := now.add(l.next, l.started); err != nil {
					return last, fmt.Errorf("%s: %w", l.path, err)
				}
				if err := l.step(); err != nil {
					return last, err
				}
			}
		}
		for _, tag := range now.tags {
			if err := to.Write(now.sums[tag], tag, now.start*1e6, now.end*1e6); err != nil {
				return last, err
			}
		}
		last = now
	}
}

// matches verifies that each log has the latencies that its part has.
func matches(logs []*partLog, parts []*Findings, folders []string) error {
	for i, l := range logs {
		count := int64(0)
		for _, k := range parts[i].Kinds {
			count += k.Intended.TotalCount()
		}
		if count != l.count {
			return fmt.Errorf("%s: %s has %d latencies, %s has %d; they are not of one run, or not whole",
				folders[i], LogFile, l.count, PartFile, count)
		}
	}
	return nil
}
