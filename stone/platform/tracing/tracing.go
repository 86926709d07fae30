// Package tracing makes the spans of a service's requests and sends them to a collector, as OTLP over gRPC. The service
// that a request enters decides whether it is traced; the decision travels with the request (W3C Trace Context), in
// the headers of HTTP, the metadata of gRPC, the published carrier argument of Thrift and the messages of ZeroMQ.
package tracing

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"loadstone.dev/stone/otlp"
	"loadstone.dev/stone/platform/config"
)

// Tracing is that of one service. Nil is off, and costs nothing: what its methods would wrap they return as it is.
type Tracing struct {
	service     string    // without its application
	sample      uint64    // requests that begin here are traced where their trace's id ends in a smaller number
	senders     []*sender // one for each collector
	connections []*grpc.ClientConn
}

// Start begins to trace a service, "application/service"; without a collector it returns nil. It waits for nothing: a
// collector may come later, or never. Counter makes the numbers of spans that ended and of those that were given up.
func Start(name string, settings config.Traces, log *slog.Logger, counter func(string) *atomic.Int64) (*Tracing, error) {
	if len(settings.Collectors) == 0 {
		return nil, nil
	}
	return start(name, settings, log, counter, mostQueued)
}

func start(name string, settings config.Traces, log *slog.Logger, counter func(string) *atomic.Int64, mostQueued int) (*Tracing, error) {
	host, _ := os.Hostname() // empty where it cannot be had
	instance := settings.Replica
	if instance == "" {
		instance = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	application, service, _ := strings.Cut(name, "/")
	of := resource("service.name", service, "service.namespace", application, "service.instance.id", instance, "host.name", host)
	t := &Tracing{service: service, sample: threshold(settings.Sample)}
	produced, dropped := counter("spans produced"), counter("spans dropped")
	for _, address := range settings.Collectors {
		connection, err := dial(address)
		if err != nil {
			t.Stop()
			return nil, fmt.Errorf("STONE_TRACES: %w", err)
		}
		counts, stopping := &counts{produced: count{all: produced}, dropped: count{all: dropped}}, make(chan struct{})
		uploader := newUploader(connection, instance, of, counts, stopping)
		t.senders = append(t.senders, newSender(uploader, log, counts, mostQueued, settings.Interval, stopping))
		t.connections = append(t.connections, connection)
	}
	return t, nil
}

// senderOf is that of the collector which the trace's id selects, in every service the same: no trace is split.
func (t *Tracing) senderOf(trace [16]byte) *sender {
	return t.senders[binary.BigEndian.Uint64(trace[8:])%uint64(len(t.senders))]
}

// half is one more than the largest number that the last 63 bits of a trace's id can be.
const half = 1 << 63

// threshold is the number below which a trace's id ends, in a share of all cases.
func threshold(share float64) uint64 {
	return min(uint64(share*half), half)
}

// Stop sends what has ended, for a second and a half at most, and closes the connections. No span may end any more.
func (t *Tracing) Stop() {
	if t == nil {
		return
	}
	var stopping sync.WaitGroup
	for _, sender := range t.senders {
		stopping.Go(sender.stop)
	}
	stopping.Wait()
	for _, connection := range t.connections {
		_ = connection.Close()
	}
}

// serve begins the span of a request that came in with these headers: within its caller's, or of a new trace. The span is
// nil if the request is not traced; the context says so to the services that it calls.
func (t *Tracing) serve(ctx context.Context, parentHeader, stateHeader, verb string) (context.Context, *span) {
	trace, parent, sampled, called := parse(parentHeader)
	stateHeader = passable(stateHeader)
	switch {
	case called && !sampled:
		return &part{Context: ctx, traceparent: known(parentHeader), tracestate: stateHeader}, nil
	case !called:
		trace, parent, stateHeader = newTrace(), [8]byte{}, ""
		if binary.BigEndian.Uint64(trace[8:])>>1 >= t.sample {
			return &part{Context: ctx, traceparent: declinedHere}, nil
		}
	}
	begun := &span{tracing: t, kind: otlp.KindServer, trace: trace, id: newID(), parent: parent, verb: verb, began: time.Now()}
	return &part{Context: ctx, span: begun, tracestate: stateHeader}, begun
}

// Message begins the span of a request that came in a message, and returns what ends it with how it went.
func (t *Tracing) Message(ctx context.Context, parent, state, verb string) (context.Context, func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, span := t.serve(ctx, parent, state, verb)
	return ctx, span.endWith
}

// headers are those of a call within this context: empty outside of a request.
func headers(ctx context.Context) (parentHeader, stateHeader string) {
	switch p := partOf(ctx); {
	case p == nil:
		return "", ""
	case p.span == nil:
		return p.traceparent, p.tracestate
	default:
		return p.span.header(), p.tracestate
	}
}

// neighbour makes the spans of calls to one need.
type neighbour struct {
	tracing *Tracing
	peer    []byte // its name as an attribute of OTLP
}

func (t *Tracing) neighbour(need string) *neighbour {
	return &neighbour{t, attribute(nil, otlp.SpanAttributes, "peer.service", need)}
}

// call begins the span of a call to a service, "verb object" or just "verb"; the context is that of the call. There is none
// outside of a traced request: what a service does by itself, such as to read its store when it starts, is no trace.
func (n *neighbour) call(ctx context.Context, verb, object string) (context.Context, *span) {
	within := partOf(ctx)
	begun := n.begin(within, verb, object)
	if begun == nil {
		return ctx, nil
	}
	return &part{Context: ctx, span: begun, tracestate: within.tracestate}, begun
}

// access begins the span of a use of a store, which calls nothing within it.
func (n *neighbour) access(ctx context.Context, verb, object string) *span {
	return n.begin(partOf(ctx), verb, object)
}

func (n *neighbour) begin(within *part, verb, object string) *span {
	begun := within.begin(otlp.KindClient, verb, object)
	if begun != nil {
		begun.need = n
	}
	return begun
}

// begin begins a span within that of the request; nil if the request is not traced, or there is none.
func (p *part) begin(kind uint8, verb, object string) *span {
	if p == nil || p.span == nil {
		return nil
	}
	return &span{
		tracing: p.span.tracing, kind: kind, trace: p.span.trace, id: newID(), parent: p.span.id,
		verb: verb, object: object, began: time.Now(),
	}
}

// Do does a part of a request's work within a span of that name, INTERNAL to the service. The work may access stores and
// call services, but their spans are the request's own, not this one's. Outside of a traced request it only does the work.
func Do(ctx context.Context, name string, work func() error) error {
	span := partOf(ctx).begin(otlp.KindInternal, name, "")
	err := work()
	span.endWith(err)
	return err
}
