// Package tracetest takes the spans of services that run in a test's process.
package tracetest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Span is one that came, with the resource that it came from.
type Span struct {
	Trace, ID, Parent                  string // hexadecimal; Parent is empty of a root
	Namespace, Service, Instance, Host string
	Name, Peer                         string
	Kind                               otlp.Span_SpanKind
	Failed                             bool
	Start, End                         uint64 // ns since 1970
}

// String is "service kind name" and, of a client's, "> peer".
func (s Span) String() string {
	switch s.Kind {
	case otlp.Span_SPAN_KIND_CLIENT:
		return fmt.Sprintf("%s calls %s > %s", s.Service, s.Name, s.Peer)
	case otlp.Span_SPAN_KIND_INTERNAL:
		return fmt.Sprintf("%s does %s", s.Service, s.Name)
	}
	return fmt.Sprintf("%s serves %s", s.Service, s.Name)
}

// Collector takes spans as OTLP over gRPC.
type Collector struct {
	collector.UnimplementedTraceServiceServer
	Address string // host:port

	server   *grpc.Server
	mutex    sync.Mutex
	spans    []Span
	reported map[string]metadata.MD
	answer   func() (*collector.ExportTraceServiceResponse, error)

	returned map[string]bool // traces, by Request
}

// New starts a collector that stops when the test ends.
func New(t testing.TB) *Collector {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{
		Address: listener.Addr().String(), server: grpc.NewServer(), reported: make(map[string]metadata.MD), returned: make(map[string]bool),
		answer: func() (*collector.ExportTraceServiceResponse, error) {
			return &collector.ExportTraceServiceResponse{}, nil
		},
	}
	collector.RegisterTraceServiceServer(c.server, c)
	go func() { _ = c.server.Serve(listener) }()
	t.Cleanup(c.server.Stop)
	return c
}

// Answer has it give other answers from now on: it keeps no spans then.
func (c *Collector) Answer(answer func() (*collector.ExportTraceServiceResponse, error)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.answer = answer
}

// Export is one batch.
func (c *Collector) Export(ctx context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mutex.Lock()
	answer := c.answer
	c.mutex.Unlock()
	response, err := answer()
	if err != nil || response.PartialSuccess != nil {
		return response, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if reported, is := metadata.FromIncomingContext(ctx); is {
		for _, instance := range reported.Get("stone-instance") {
			c.reported[instance] = reported
		}
	}
	for _, resource := range request.ResourceSpans {
		from := resourceOf(resource)
		for _, scope := range resource.ScopeSpans {
			for _, one := range scope.Spans {
				c.spans = append(c.spans, spanOf(from, one))
			}
		}
	}
	return response, nil
}

func resourceOf(resource *otlp.ResourceSpans) Span {
	var from Span
	for _, attribute := range resource.Resource.Attributes {
		value := attribute.Value.GetStringValue()
		switch attribute.Key {
		case "service.name":
			from.Service = value
		case "service.namespace":
			from.Namespace = value
		case "service.instance.id":
			from.Instance = value
		case "host.name":
			from.Host = value
		}
	}
	return from
}

func spanOf(from Span, one *otlp.Span) Span {
	from.Trace, from.ID, from.Parent = fmt.Sprintf("%x", one.TraceId), fmt.Sprintf("%x", one.SpanId), fmt.Sprintf("%x", one.ParentSpanId)
	from.Name, from.Kind, from.Start, from.End = one.Name, one.Kind, one.StartTimeUnixNano, one.EndTimeUnixNano
	from.Failed = one.Status.GetCode() == otlp.Status_STATUS_CODE_ERROR
	for _, attribute := range one.Attributes {
		if attribute.Key == "peer.service" {
			from.Peer = attribute.Value.GetStringValue()
		}
	}
	return from
}

// Spans are those that came so far.
func (c *Collector) Spans() []Span {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.spans)
}

// Reported is a value of the metadata of an instance's last request, empty if there is none.
func (c *Collector) Reported(instance, key string) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if values := c.reported[instance].Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Wait returns the spans once they satisfy the condition.
func (c *Collector) Wait(t testing.TB, what string, holds func([]Span) bool) []Span {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		spans := c.Spans()
		if holds(spans) {
			return spans
		}
		if time.Now().After(deadline) {
			t.Fatalf("never: %s; there are %v", what, spans)
		}
	}
}
