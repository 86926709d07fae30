package counters

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics answers as Prometheus asks. What a number belongs to is its label `subject`, in the words of recordings.
func (r *Recorder) metrics() http.Handler {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(scraper{r})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

type scraper struct{ recorder *Recorder }

// Describe tells nothing: which metrics there are is only known once they were read.
func (scraper) Describe(chan<- *prometheus.Desc) {}

// Collect reads now. Two recordings may have a replica in common, which counts once.
func (s scraper) Collect(out chan<- prometheus.Metric) {
	told := map[series]bool{}
	for _, point := range s.recorder.now() {
		if told[point.series] {
			continue
		}
		told[point.series] = true
		kind := prometheus.GaugeValue
		if strings.HasSuffix(point.metric, "_total") {
			kind = prometheus.CounterValue
		}
		desc := prometheus.NewDesc(point.metric, Metrics[point.metric], []string{"subject"}, nil)
		out <- prometheus.MustNewConstMetric(desc, kind, point.value, point.subject)
	}
}
