// Package service runs one service of an application: configuration, log, listeners, readiness,
// graceful stop.
package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/delay"
	"loadstone.dev/stone/platform/health"
	"loadstone.dev/stone/platform/httpserver"
	"loadstone.dev/stone/platform/logging"
	"loadstone.dev/stone/platform/rpc"
	"loadstone.dev/stone/platform/thriftrpc"
	"loadstone.dev/stone/platform/tracing"
	"loadstone.dev/stone/zmtp"
)

// Exit codes of Run.
const (
	Done       = 0
	Unexpected = 1
	BadInput   = 2
)

// stopTimeout is how long requests in flight may take to end once a stop is requested: less than
// the ten seconds after which Docker and others kill.
const stopTimeout = 8 * time.Second

// Definition describes a service: what it needs and how it starts.
type Definition struct {
	Summary string
	config.Wants
	// Start builds the service on its host: it registers handlers, conditions and what to do at the
	// stop, and returns without waiting for a neighbour.
	Start func(ctx context.Context, host *Host) error
}

// Host is what a service is built on.
type Host struct {
	Config config.Config
	Log    *slog.Logger
	Health *health.Health
	RPC    *grpc.Server
	// A service that does not speak gRPC sets one of these, or calls HandleMessages.
	HTTP   *http.ServeMux
	Thrift thrift.TProcessor

	messages   *zmtp.Server
	tracing    *tracing.Tracing
	background sync.WaitGroup
	closers    []func()
	counters   map[string]*atomic.Int64
	context    context.Context
}

// OnStop has something closed after the last request; what was added last is closed first.
func (h *Host) OnStop(close func()) { h.closers = append(h.closers, close) }

// Counter is a number that /counters of the admin port shows.
func (h *Host) Counter(name string) *atomic.Int64 {
	counter := new(atomic.Int64)
	h.counters[name] = counter
	return counter
}

// Background runs work beside the requests; the stop cancels its context and waits for its end.
func (h *Host) Background(work func(context.Context)) {
	h.background.Go(func() { work(h.context) })
}

// Run serves until the context ends (the caller ties it to SIGTERM and SIGINT), then lets requests
// in flight end. It returns the exit code; complaints go to stderr.
func Run(ctx context.Context, name string, definition Definition, getenv func(string) string, stderr io.Writer) int {
	settings, err := config.Load(definition.Wants, getenv)
	if err != nil {
		fmt.Fprintf(stderr, "stone serve %s: %v\n", name, err)
		return BadInput
	}
	log := logging.New(stderr, settings.LogLevel, name)
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	host := &Host{
		Config: settings, Log: log, Health: health.New(), context: background, counters: make(map[string]*atomic.Int64),
	}
	host.tracing, err = tracing.Start(name, settings.Traces, log, host.Counter)
	if err == nil {
		host.RPC = rpc.NewServer(log, host.interceptors()...)
		err = definition.Start(background, host)
	}
	if err != nil {
		host.tracing.Stop()
		fmt.Fprintf(stderr, "stone serve %s: %v\n", name, err)
		return BadInput
	}
	err = host.serve(ctx)
	cancel()
	host.background.Wait()
	host.tracing.Stop()
	for i := len(host.closers) - 1; i >= 0; i-- {
		host.closers[i]()
	}
	if err != nil {
		log.Error("stopped", "error", err)
		return Unexpected
	}
	log.Info("stopped")
	return Done
}

func (h *Host) serve(ctx context.Context) error {
	listener, err := net.Listen("tcp", h.Config.Listen)
	if err != nil {
		return fmt.Errorf("STONE_LISTEN: %w", err)
	}
	failed := make(chan error, 2)
	if h.Config.Admin != "" {
		stop, err := h.serveAdmin(failed)
		if err != nil {
			_ = listener.Close()
			return err
		}
		defer stop()
	}
	var stop func()
	switch {
	case h.HTTP != nil:
		stop = h.serveHTTP(listener, failed)
	case h.Thrift != nil:
		stop = h.serveThrift(listener, failed)
	case h.messages != nil:
		stop = h.serveMessages(listener, failed)
	default:
		stop = h.serveRPC(listener, failed)
	}
	h.Log.Info("serving", "listen", listener.Addr().String(), "admin", h.Config.Admin)
	select {
	case <-ctx.Done():
		h.Log.Info("stopping")
		err = nil
	case err = <-failed:
	}
	stop()
	return err
}

// whenReady does something once every condition has been met for the first time.
func (h *Host) whenReady(do func()) {
	h.Background(func(ctx context.Context) {
		for !h.Health.State(ctx).Ready {
			select {
			case <-ctx.Done():
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
		do()
		h.Log.Info("ready")
	})
}

func (h *Host) serveAdmin(failed chan<- error) (func(), error) {
	listener, err := net.Listen("tcp", h.Config.Admin)
	if err != nil {
		return nil, fmt.Errorf("STONE_ADMIN: %w", err)
	}
	mux := http.NewServeMux()
	h.Health.Register(mux)
	mux.HandleFunc("/counters", h.showCounters)
	return h.serveMux(mux, listener, failed), nil
}

func (h *Host) showCounters(w http.ResponseWriter, _ *http.Request) {
	counts := make(map[string]int64, len(h.counters))
	for name, counter := range h.counters {
		counts[name] = counter.Load()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(counts) // fails only if the asker went away
}

func (h *Host) serveHTTP(listener net.Listener, failed chan<- error) func() {
	h.Health.Register(h.HTTP)
	h.whenReady(func() {})
	handler := http.Handler(h.HTTP)
	if h.Config.Delay > 0 {
		handler = delay.HTTP(h.Config.Delay, handler)
	}
	server := httpserver.New(h.tracing.Handler(handler), h.Log)
	go func() {
		if err := server.Serve(listener); err != nil {
			failed <- err
		}
	}()
	return func() { server.Stop(stopTimeout) }
}

func (h *Host) serveMux(handler http.Handler, listener net.Listener, failed chan<- error) func() {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(h.Log.Handler(), slog.LevelWarn)}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
	}
}

func (h *Host) serveThrift(listener net.Listener, failed chan<- error) func() {
	middleware := h.tracing.Processors()
	if h.Config.Delay > 0 {
		middleware = append(middleware, delay.Thrift(h.Config.Delay))
	}
	server := thriftrpc.NewServer(h.Thrift, h.Log, middleware...)
	h.whenReady(func() {})
	go func() {
		if err := server.Serve(listener); err != nil {
			failed <- err
		}
	}()
	return func() { server.Stop(stopTimeout) }
}

// interceptors are around every call of a gRPC server; a delay counts as the service's own time.
func (h *Host) interceptors() []grpc.UnaryServerInterceptor {
	chain := h.tracing.ServerInterceptors()
	if h.Config.Delay > 0 {
		chain = append(chain, delay.RPC(h.Config.Delay))
	}
	return chain
}

func (h *Host) serveRPC(listener net.Listener, failed chan<- error) func() {
	standard := grpchealth.NewServer()
	standard.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	grpc_health_v1.RegisterHealthServer(h.RPC, standard)
	h.whenReady(func() { standard.SetServingStatus("", grpc_health_v1.HealthCheckResponse_SERVING) })
	go func() {
		if err := h.RPC.Serve(listener); err != nil {
			failed <- err
		}
	}()
	return func() {
		standard.Shutdown()
		// GracefulStop waits for calls in flight without a bound of its own.
		late := time.AfterFunc(stopTimeout, h.RPC.Stop)
		defer late.Stop()
		h.RPC.GracefulStop()
	}
}
