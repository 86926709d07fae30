// Package export writes what a run of the load generator found in formats that other tools read: the
// HdrHistogram percentile spectrum, the text of wrk2, a Parquet row for each request and Prometheus metrics.
// Times are in ns unless a name says otherwise; docs/reference/exports.md describes the formats.
package export

import (
	"bytes"
	"fmt"
	"io"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const (
	ticksPerHalf = 5   // rows between one power of two of 1/(1-percentile) and the next
	nsPerMs      = 1e6 // values are written in ms
)

// Spectrum writes the percentile spectrum of h, a histogram of ns, in ms: the text that HdrHistogram's tools call
// .hgrm and that wrk2 prints, with the columns and trailer of the C library. The Go library's own text has another
// heading, with tabs, that some readers of the format do not know.
func Spectrum(w io.Writer, h *hdr.Histogram) error {
	if h.TotalCount() == 0 { // the largest of no values is not the width of a bucket
		h = hdr.New(1, h.HighestTrackableValue(), int(h.SignificantFigures()))
	}
	var text bytes.Buffer
	if _, err := h.PercentilesPrint(&text, ticksPerHalf, nsPerMs); err != nil {
		return err
	}
	_, rows, _ := bytes.Cut(text.Bytes(), []byte("\n"))
	if _, err := fmt.Fprintf(w, "%12s %12s %12s %12s\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)"); err != nil {
		return err
	}
	_, err := w.Write(rows)
	return err
}
