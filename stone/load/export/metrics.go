package export

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Snapshot is what a run has counted so far: counts include the warm-up, distributions are of the measured window's
// requests alone, as everywhere else.
type Snapshot struct {
	Offered    int64
	Sent       int64
	Completed  int64
	InFlight   int64
	CPUShare   float64      // usage.share of the busiest load thread
	Lateness   Distribution // from the intended to the actual send
	Operations []OperationSnapshot
}

// OperationSnapshot is the part of one operation.
type OperationSnapshot struct {
	Name    string
	Errors  int64
	Latency Distribution // from the intended time, of good answers
}

// Distribution is a histogram in the form that Prometheus takes.
type Distribution struct {
	count   uint64
	sum     float64            // s
	buckets map[float64]uint64 // values at most the bound, in s
}

// bounds are the buckets' limits in s, 1-2-5 from 0.1 ms to 10 s.
var bounds = []float64{1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10}

// Distribute brings a histogram of ns into buckets; a value on a bound counts as below it.
func Distribute(h *hdr.Histogram) Distribution {
	d := Distribution{count: uint64(h.TotalCount()), sum: h.Mean() * float64(h.TotalCount()) / 1e9, buckets: map[float64]uint64{}}
	bars, below := h.Distribution(), uint64(0)
	for _, bound := range bounds {
		for len(bars) > 0 && float64(bars[0].From) <= bound*1e9 {
			below += uint64(bars[0].Count)
			bars = bars[1:]
		}
		d.buckets[bound] = below
	}
	return d
}

var (
	offered   = describe("offered_total", "Requests that were due.")
	sent      = describe("sent_total", "Requests that went out.")
	completed = describe("completed_total", "Good answers in time.")
	failed    = describe("errors_total", "Requests without a good answer in time.", "operation")
	inFlight  = describe("in_flight", "Requests sent and not answered.")
	cpuShare  = describe("cpu_share", "Busy share of the busiest load thread or, where others work for it, of the process, 0 to 1.")
	lateness  = describe("lateness_seconds", "From the intended to the actual send; without the warm-up.")
	latency   = describe("latency_seconds", "From the intended send to the whole good answer; without the warm-up.", "operation")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("stone_load_"+name, help, labels, nil)
}

// source lets Prometheus collect a snapshot.
type source func() Snapshot

func (source) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{offered, sent, completed, failed, inFlight, cpuShare, lateness, latency} {
		to <- d
	}
}

func (s source) Collect(to chan<- prometheus.Metric) {
	now := s()
	count := func(d *prometheus.Desc, value int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), labels...)
	}
	distribution := func(d *prometheus.Desc, value Distribution, labels ...string) {
		to <- prometheus.MustNewConstHistogram(d, value.count, value.sum, value.buckets, labels...)
	}
	count(offered, now.Offered)
	count(sent, now.Sent)
	count(completed, now.Completed)
	to <- prometheus.MustNewConstMetric(inFlight, prometheus.GaugeValue, float64(now.InFlight))
	to <- prometheus.MustNewConstMetric(cpuShare, prometheus.GaugeValue, now.CPUShare)
	distribution(lateness, now.Lateness)
	for _, o := range now.Operations {
		count(failed, o.Errors, o.Name)
		distribution(latency, o.Latency, o.Name)
	}
}

// Metrics serves http://address/metrics until stop is called, which waits until the port is free again. An address
// without a host is one of the loopback interface. Each scrape takes a snapshot, in another goroutine.
func Metrics(address string, snapshot func() Snapshot) (stop func(), err error) {
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w; give another address", err)
	}
	return serve(listener, snapshot), nil
}

func serve(listener net.Listener, snapshot func() Snapshot) (stop func()) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(source(snapshot))
	routes := http.NewServeMux()
	routes.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	server := &http.Server{Handler: routes, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // it ends when it is shut down
	}()
	return func() {
		patience, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if errors.Is(server.Shutdown(patience), context.DeadlineExceeded) {
			_ = server.Close()
		}
		<-ended
	}
}
