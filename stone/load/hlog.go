package load

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// wholeTag is the tag of all latencies from the intended time: none, as HdrHistogram's own tools read lines without a tag
// unless they are told otherwise.
const wholeTag = ""

// intervalLog writes latency.hlog, an HdrHistogram V2 interval log: values in ns, times in s since the epoch. All
// latencies from the intended time have no tag; others have service, lateness or intended:<operation>. It appears
// under its name when it is complete.
type intervalLog struct {
	file   *os.File
	buffer *bufio.Writer
	writer *hdr.HistogramLogWriter
	path   string
	start  time.Time
}

func newIntervalLog(path string, start time.Time) (*intervalLog, error) {
	file, err := os.Create(path + ".part")
	if err != nil {
		return nil, err
	}
	buffer := bufio.NewWriter(file)
	l := &intervalLog{file, buffer, hdr.NewHistogramLogWriter(buffer), path, start}
	fmt.Fprintf(buffer, "#[stone load: values in ns]\n")
	_ = l.writer.OutputLogFormatVersion()
	fmt.Fprintf(buffer, "#[StartTime: %.3f (seconds since epoch), %s]\n",
		float64(start.UnixMilli())/1e3, start.UTC().Format(time.RFC3339))
	return l, l.writer.OutputLegend()
}

// write adds one histogram of an interval, given in ns since the start.
func (l *intervalLog) write(h *hdr.Histogram, tag string, start, end int64) error {
	h.SetTag(tag)
	h.SetStartTimeMs(l.start.Add(time.Duration(start)).UnixMilli())
	h.SetEndTimeMs(l.start.Add(time.Duration(end)).UnixMilli())
	return l.writer.OutputIntervalHistogram(h)
}

// writeUnheard adds the requests without a good answer, whose latencies are known when the run has ended.
func (l *intervalLog) writeUnheard(f *findings, start, end int64) error {
	all := newHistogram()
	for i := range f.Kinds {
		h := f.unheard(&f.Kinds[i])
		if h.TotalCount() == 0 {
			continue
		}
		all.Merge(h)
		if err := l.write(h, intendedTag(f.Kinds[i].Name), start, end); err != nil {
			return err
		}
	}
	if all.TotalCount() == 0 {
		return nil
	}
	return l.write(all, wholeTag, start, end)
}

// intendedTag is the tag of one kind's latencies from the intended time. A script's kinds have a space in their names,
// which no tag may have.
func intendedTag(kind string) string {
	return "intended:" + strings.Map(func(c rune) rune {
		if c <= ' ' || c == ',' || c == 0x7f {
			return '_'
		}
		return c
	}, kind)
}

func (l *intervalLog) finish() error {
	if err := l.buffer.Flush(); err != nil {
		return err
	}
	if err := l.file.Close(); err != nil {
		return err
	}
	return os.Rename(l.path+".part", l.path)
}

func (l *intervalLog) discard() {
	_ = l.file.Close()
	_ = os.Remove(l.path + ".part")
}
