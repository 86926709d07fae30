// Package metrics shows the counters of a machine and of its replicas to Prometheus, over HTTP: `stone agent`.
package metrics

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"loadstone.dev/stone/node/counters"
)

const (
	mostHeaderBytes = 16 << 10
	mostScrapes     = 4 // at the same time
	answerWithin    = 10 * time.Second
	closeWithin     = 2 * time.Second
)

// Options of an agent.
type Options struct {
	// Token must come with each request for metrics, as `Authorization: Bearer TOKEN`. Empty: none is needed.
	Token string
	// Replicas is the file that names them; empty: only the machine is shown. See ReadReplicas.
	Replicas string
}

// Serve answers until ctx ends.
func Serve(ctx context.Context, listener net.Listener, host *counters.Host, options Options) error {
	live := host.Live()
	defer live.Close()
	server := &http.Server{
		Handler:        Handler(live, options),
		ReadTimeout:    answerWithin,
		WriteTimeout:   2 * answerWithin,
		IdleTimeout:    time.Minute,
		MaxHeaderBytes: mostHeaderBytes,
	}
	ended := context.AfterFunc(ctx, func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		if server.Shutdown(closing) != nil {
			_ = server.Close()
		}
	})
	defer ended()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler answers GET /healthz to everybody, and GET /metrics to those with the token.
func Handler(live *counters.Live, options Options) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, `{"alive":true}`) // fails only if the client went away
	})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collector{live, options.Replicas})
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get("Authorization")
		if options.Token != "" && subtle.ConstantTimeCompare([]byte(given), []byte("Bearer "+options.Token)) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "give the agent's token: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		metrics.ServeHTTP(w, r)
	})
	return mux
}

// collector makes a reading for each scrape. What a number belongs to is its label `subject`, as in recordings.
type collector struct {
	live     *counters.Live
	replicas string
}

// Describe names nothing: which metrics there are is only known once they were read.
func (collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	replicas, err := ReadReplicas(c.replicas)
	var values []counters.Value
	if err == nil {
		values, err = c.live.Read(ctx, replicas)
	}
	if err != nil {
		out <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		return
	}
	for _, value := range values {
		kind := prometheus.GaugeValue
		if strings.HasSuffix(value.Metric, "_total") {
			kind = prometheus.CounterValue
		}
		desc := prometheus.NewDesc(value.Metric, counters.Metrics[value.Metric], []string{"subject"}, nil)
		out <- prometheus.MustNewConstMetric(desc, kind, value.Value, value.Subject)
	}
}
