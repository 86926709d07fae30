// Package tracing makes the spans of a service's requests and sends them to a collector, as OTLP over gRPC. Who decides
// that a request is traced is the service that it enters; what that decided goes with the request (W3C Trace Context), in
// the headers of HTTP, the metadata of gRPC and the published carrier argument of Thrift.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"

	"loadstone.dev/stone/platform/config"
)

// Tracing is that of one service. Nil is off, and costs nothing: what its methods would wrap they return as it is.
type Tracing struct {
	tracer     trace.Tracer
	service    string // without its application
	sender     *sender
	connection *grpc.ClientConn
}

// Start begins to trace a service, "application/service"; without a collector it returns nil. It waits for nothing: a
// collector may come later, or never. Counter makes the numbers of spans that ended and of those that were given up.
func Start(name string, settings config.Traces, log *slog.Logger, counter func(string) *atomic.Int64) (*Tracing, error) {
	if settings.Collector == "" {
		return nil, nil
	}
	return start(name, settings, log, counter, mostQueued)
}

func start(name string, settings config.Traces, log *slog.Logger, counter func(string) *atomic.Int64, mostQueued int) (*Tracing, error) {
	connection, err := dial(settings.Collector)
	if err != nil {
		return nil, fmt.Errorf("STONE_TRACES: %w", err)
	}
	host, _ := os.Hostname() // empty where it cannot be had
	instance := settings.Replica
	if instance == "" {
		instance = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	application, service, _ := strings.Cut(name, "/")
	counts := counts{produced: counter("spans produced"), dropped: counter("spans dropped")}
	stopping := make(chan struct{})
	exporter := otlptrace.NewUnstarted(newUploader(connection, instance, counts, stopping))
	sender := newSender(exporter, log, counts, mostQueued, stopping)
	provider := sdk.NewTracerProvider(
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(settings.Sample))),
		sdk.WithSpanProcessor(sender),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", service),
			attribute.String("service.namespace", application),
			attribute.String("service.instance.id", instance),
			attribute.String("host.name", host),
		)),
	)
	return &Tracing{provider.Tracer("loadstone.dev/stone"), service, sender, connection}, nil
}

// Stop sends what has ended, for a second and a half at most, and closes the connection. No span may end any more.
func (t *Tracing) Stop() {
	if t == nil {
		return
	}
	t.sender.stop()
	_ = t.connection.Close()
}

// traceparent is the header of W3C Trace Context.
const traceparent = "traceparent"

var (
	propagator = propagation.TraceContext{}
	serverSpan = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	noSpan     = noop.Span{}
)

// serve begins the span of a request that came in: within its caller's, or of a new trace. Of a request that is not traced
// there is only the context, which passes that on.
func (t *Tracing) serve(ctx context.Context, carrier propagation.TextMapCarrier, name string) (context.Context, trace.Span) {
	if caller := carrier.Get(traceparent); isDeclined(caller) {
		return trace.ContextWithSpan(ctx, &declined{traceparent: caller}), noSpan
	}
	traced, span := t.tracer.Start(propagator.Extract(ctx, carrier), name, serverSpan...)
	if !span.IsRecording() {
		return trace.ContextWithSpan(ctx, declinedHere), noSpan
	}
	return traced, span
}

// inject tells the next service whose part a call is, or that its request is not traced; outside of a request nothing.
func inject(ctx context.Context, carrier propagation.TextMapCarrier) {
	if no, is := trace.SpanFromContext(ctx).(*declined); is {
		carrier.Set(traceparent, no.traceparent)
		return
	}
	propagator.Inject(ctx, carrier)
}

// neighbour makes the spans of calls to one need.
type neighbour struct {
	tracer  trace.Tracer
	options []trace.SpanStartOption
}

func (t *Tracing) neighbour(need string) neighbour {
	return neighbour{t.tracer, []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attribute.String("peer.service", need)),
	}}
}

// call begins the span of a call, "verb object" or just "verb". There is none outside of a traced request: what a service
// does by itself, such as to read its store when it starts, is no trace.
func (n neighbour) call(ctx context.Context, verb, object string) (context.Context, trace.Span) {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, noSpan
	}
	if object != "" {
		verb += " " + object
	}
	return n.tracer.Start(ctx, verb, n.options...)
}

// end ends a span with what its call returned.
func end(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
