package result

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// WholeTag is the tag of all latencies from the intended time: none, as HdrHistogram's own tools read lines without a tag
// unless configured otherwise.
const WholeTag = ""

// IntervalLog writes latency.hlog, an HdrHistogram V2 interval log: values in ns, times in s since the epoch. All
// latencies from the intended time have no tag; others have service, lateness or intended:<operation>. It appears
// under its name when it is complete.
type IntervalLog struct {
	file   *os.File
	buffer *bufio.Writer
	writer *hdr.HistogramLogWriter
	path   string
	start  time.Time
}

func NewIntervalLog(path string, start time.Time) (*IntervalLog, error) {
	file, err := os.Create(path + ".part")
	if err != nil {
		return nil, err
	}
	buffer := bufio.NewWriter(file)
	l := &IntervalLog{file, buffer, hdr.NewHistogramLogWriter(buffer), path, start}
	fmt.Fprintf(buffer, "#[stone load: values in ns]\n")
	_ = l.writer.OutputLogFormatVersion()
	fmt.Fprintf(buffer, "#[StartTime: %.3f (seconds since epoch), %s]\n",
		float64(start.UnixMilli())/1e3, start.UTC().Format(time.RFC3339))
	return l, l.writer.OutputLegend()
}

// Write adds one histogram of an interval, given in ns since the start.
func (l *IntervalLog) Write(h *hdr.Histogram, tag string, start, end int64) error {
	h.SetTag(tag)
	h.SetStartTimeMs(l.start.Add(time.Duration(start)).UnixMilli())
	h.SetEndTimeMs(l.start.Add(time.Duration(end)).UnixMilli())
	return l.writer.OutputIntervalHistogram(h)
}

// WriteUnheard adds the requests without a good answer, whose latencies are known when the run has ended.
func (l *IntervalLog) WriteUnheard(f *Findings, start, end int64) error {
	all := NewHistogram()
	for i := range f.Kinds {
		h := f.unheard(&f.Kinds[i])
		if h.TotalCount() == 0 {
			continue
		}
		all.Merge(h)
		if err := l.Write(h, IntendedTag(f.Kinds[i].Name), start, end); err != nil {
			return err
		}
	}
	if all.TotalCount() == 0 {
		return nil
	}
	return l.Write(all, WholeTag, start, end)
}

// IntendedTag is the tag of one kind's latencies from the intended time. A script's kinds have a space in their names,
// which no tag may have.
func IntendedTag(kind string) string {
	return "intended:" + strings.Map(func(c rune) rune {
		if c <= ' ' || c == ',' || c == 0x7f {
			return '_'
		}
		return c
	}, kind)
}

func (l *IntervalLog) Finish() error {
	if err := l.buffer.Flush(); err != nil {
		return err
	}
	if err := l.file.Close(); err != nil {
		return err
	}
	return os.Rename(l.path+".part", l.path)
}

func (l *IntervalLog) Discard() {
	_ = l.file.Close()
	_ = os.Remove(l.path + ".part")
}
