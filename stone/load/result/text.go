package result

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"loadstone.dev/stone/load/export"
	"loadstone.dev/stone/load/request"
	"loadstone.dev/stone/load/schedule"
)

// DefaultConnections are those of a plan that leaves them out.
const DefaultConnections = 64

// Write puts the texts, the iterations and the summary into a folder. There are no texts of a run that broke its SLO and
// was stopped: they have no place for what was still on its way then, and would show it as slow.
func (f *Findings) Write(dir string, s *Summary) error {
	if f.Aborted != nil && f.Aborted.Violations > 0 {
		return WriteJSON(filepath.Join(dir, SummaryFile), s)
	}
	text, err := f.Text(s)
	if err != nil {
		return err
	}
	if err := putFile(filepath.Join(dir, "latency.hgrm"), func(w io.Writer) error { return spectrumText(w, text, s.Counts) }); err != nil {
		return err
	}
	if err := putFile(filepath.Join(dir, "wrk2.txt"), func(w io.Writer) error { return export.Wrk2(w, text) }); err != nil {
		return err
	}
	if err := f.Counted.write(dir); err != nil {
		return err
	}
	return WriteJSON(filepath.Join(dir, SummaryFile), s)
}

// spectrumText is latency.hgrm. Its readers skip the comment that says which values are lower bounds.
func spectrumText(w io.Writer, text export.Text, counts Counts) error {
	if err := export.Spectrum(w, text.Latency); err != nil {
		return err
	}
	answers := counts.Completed + counts.Late
	if answers == counts.Offered {
		return nil
	}
	_, err := fmt.Fprintf(w, "#[Answered = %d of %d; the values of the others are lower bounds]\n", answers, counts.Offered)
	return err
}

// putFile makes a file, whole or not at all.
func putFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path + ".part")
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(file)
	if err = write(buffer); err == nil {
		err = buffer.Flush()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(path + ".part")
		return err
	}
	return os.Rename(path+".part", path)
}

// Text is the run as wrk2 would tell it.
func (f *Findings) Text(s *Summary) (export.Text, error) {
	plan := struct {
		Target      string `json:"target"`
		Connections int    `json:"connections"`
		Wrk2Layout  string `json:"wrk2_layout"`
	}{Connections: DefaultConnections, Wrk2Layout: export.Current}
	if err := json.Unmarshal(f.Plan, &plan); err != nil {
		return export.Text{}, err
	}
	t := export.Text{
		Layout: plan.Wrk2Layout, URL: plan.Target, Threads: f.Generator.Threads, Connections: plan.Connections, Duration: schedule.Seconds(s.WindowS),
		Latency: f.Intended(), Rates: f.Rates.Histogram, Answers: f.Answers, Bytes: f.Generator.Bytes, Timeout: s.Counts.Timeouts,
	}
	for _, e := range f.Errors {
		switch {
		case strings.HasPrefix(e.Kind, SkippedPrefix):
		case strings.HasPrefix(e.Kind, ConnectPrefix):
			t.Connect += e.Count
		case strings.HasPrefix(e.Kind, request.StatusPrefix):
			t.Status += e.Count
		default:
			t.Read += e.Count
		}
	}
	if s.Counts.Completed+s.Counts.Late == 0 { // nothing but lower bounds, for which the text has no form
		t.Latency = NewHistogram()
	}
	return t, nil
}

// Intended is the latencies of all requests, from the intended time.
func (f *Findings) Intended() *hdr.Histogram {
	all := NewHistogram()
	for i := range f.Kinds {
		all.Merge(f.Kinds[i].Intended.Histogram)
		all.Merge(f.unheard(&f.Kinds[i]))
	}
	return all
}
