package spans

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resources "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// seen is a span with its texts, as a test wants it.
type seen struct {
	span                                     span
	service, replica, host, operation, calls string
}

// viaProtobuf reads a request the long way, through its messages.
func viaProtobuf(t testing.TB, request []byte) (all []seen, rejected int64, err error) {
	var m collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(request, &m); err != nil {
		return nil, 0, err
	}
	texts := func(attributes []*common.KeyValue) map[string]string {
		found := map[string]string{}
		for _, a := range attributes {
			found[a.GetKey()] = a.GetValue().GetStringValue()
		}
		return found
	}
	or := func(some ...string) string {
		for _, s := range some {
			if s != "" {
				return s
			}
		}
		return ""
	}
	cut := func(s string) string { return strings.ToValidUTF8(s[:min(len(s), mostNameBytes)], "?") }
	for _, ofResource := range m.ResourceSpans {
		of := texts(ofResource.GetResource().GetAttributes())
		for _, ofScope := range ofResource.ScopeSpans {
			for _, s := range ofScope.Spans {
				zero := bytes.Trim(s.TraceId, "\x00")
				if len(s.TraceId) != 16 || len(zero) == 0 || len(s.SpanId) != 8 || len(bytes.Trim(s.SpanId, "\x00")) == 0 ||
					len(s.ParentSpanId) != 0 && len(s.ParentSpanId) != 8 || s.StartTimeUnixNano == 0 || s.StartTimeUnixNano >= 1<<62 ||
					s.EndTimeUnixNano > 0 && (s.EndTimeUnixNano < s.StartTimeUnixNano || s.EndTimeUnixNano-s.StartTimeUnixNano >= 1<<60) {
					rejected++
					continue
				}
				one := seen{
					service: cut(of["service.name"]), replica: cut(or(of["service.instance.id"], of["host.name"])),
					host: cut(of["host.name"]), operation: cut(s.Name),
				}
				called := texts(s.Attributes)
				one.calls = called["peer.service"]
				if s.Kind == trace.Span_SPAN_KIND_CLIENT || s.Kind == trace.Span_SPAN_KIND_PRODUCER {
					one.calls = or(one.calls, called["db.system.name"], called["db.system"], called["messaging.system"], called["server.address"])
				}
				one.calls = cut(one.calls)
				one.span = span{
					traceHigh: binary.BigEndian.Uint64(s.TraceId), traceLow: binary.BigEndian.Uint64(s.TraceId[8:]),
					id: binary.BigEndian.Uint64(s.SpanId), start: int64(s.StartTimeUnixNano), duration: unfinished,
				}
				if len(s.ParentSpanId) > 0 {
					one.span.parent = binary.BigEndian.Uint64(s.ParentSpanId)
				}
				if end := s.EndTimeUnixNano; end > 0 {
					one.span.duration = int64(end - s.StartTimeUnixNano)
				}
				if s.Kind >= 0 && s.Kind <= 5 {
					one.span.kind = uint8(s.Kind)
				}
				if code := s.GetStatus().GetCode(); code >= 0 && code <= 2 {
					one.span.status = uint8(code)
				}
				all = append(all, one)
			}
		}
	}
	return all, rejected, nil
}

func viaReader(request []byte) (all []seen, rejected int64, err error) {
	r := reader{names: newNames()}
	if err := r.read(request); err != nil {
		return nil, 0, err
	}
	for _, s := range r.spans {
		n := r.names
		one := seen{s, n.name(s.service), n.name(s.replica), n.name(s.host), n.name(s.operation), n.name(s.peer)}
		one.span.service, one.span.replica, one.span.host, one.span.operation, one.span.peer = 0, 0, 0, 0, 0
		all = append(all, one)
	}
	return all, r.rejected, nil
}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, value int64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: value}}}
}

// made is one span of a trace and a number, begun in its n-th microsecond.
func made(of byte, n uint64, change ...func(*trace.Span)) *trace.Span {
	s := &trace.Span{
		TraceId: append(make([]byte, 15), of), SpanId: binary.BigEndian.AppendUint64(nil, n), Name: "GET /hotels",
		Kind: trace.Span_SPAN_KIND_SERVER, StartTimeUnixNano: 1e18 + 1000*n, EndTimeUnixNano: 1e18 + 1000*n + 500,
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func request(t testing.TB, resource []*common.KeyValue, spans ...*trace.Span) []byte {
	t.Helper()
	bytes, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{
		Resource:   &resources.Resource{Attributes: resource},
		ScopeSpans: []*trace.ScopeSpans{{Scope: &common.InstrumentationScope{Name: "stone"}, Spans: spans}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// examples are requests with all that can differ.
func examples(t testing.TB) [][]byte {
	call := func(kind trace.Span_SpanKind, attributes ...*common.KeyValue) func(*trace.Span) {
		return func(s *trace.Span) { s.Kind, s.Attributes = kind, attributes }
	}
	client := trace.Span_SPAN_KIND_CLIENT
	ours := request(t, []*common.KeyValue{text("service.name", "rate"), text("service.instance.id", "rate-1"), text("host.name", "worker-1")},
		made(1, 1), made(1, 2, call(client, number("a", 1), text("server.address", "10.0.0.1"), text("peer.service", "memcached-rate"))),
		made(1, 3, func(s *trace.Span) { s.ParentSpanId = binary.BigEndian.AppendUint64(nil, 1) }),
		made(2, 4, func(s *trace.Span) { s.Status = &trace.Status{Message: "no", Code: trace.Status_STATUS_CODE_ERROR} }))
	others := request(t, []*common.KeyValue{text("host.name", "h"), number("service.name", 7)},
		made(3, 1, call(client, text("db.system", "redis"), text("server.address", "x"))),
		made(3, 2, call(client, text("db.system", "old"), text("db.system.name", "postgresql"))),
		made(3, 3, call(trace.Span_SPAN_KIND_SERVER, text("server.address", "me"))),
		made(3, 4, call(trace.Span_SPAN_KIND_PRODUCER, text("messaging.system", "kafka"), number("peer.service", 1))),
		made(3, 5, call(client)))
	odd := request(t, nil,
		made(4, 1, func(s *trace.Span) { s.EndTimeUnixNano = 0 }), made(4, 2, func(s *trace.Span) { s.EndTimeUnixNano = s.StartTimeUnixNano - 1 }),
		made(4, 3, func(s *trace.Span) { s.TraceId = nil }), made(4, 4, func(s *trace.Span) { s.SpanId = s.SpanId[:7] }),
		made(4, 0), made(0, 1), made(4, 5, func(s *trace.Span) { s.ParentSpanId = []byte{1} }),
		made(4, 6, func(s *trace.Span) { s.StartTimeUnixNano = math.MaxUint64 }), made(4, 7, func(s *trace.Span) { s.EndTimeUnixNano = math.MaxUint64 }),
		made(4, 10, func(s *trace.Span) { s.EndTimeUnixNano = s.StartTimeUnixNano }),
		made(4, 8, func(s *trace.Span) { s.Kind, s.Status = 77, &trace.Status{Code: -1} }),
		made(4, 9, func(s *trace.Span) { s.Name = strings.Repeat("é", 2000) }))
	// A resource may come behind its spans, and in two parts.
	behind := bytes.Join([][]byte{
		{0x0a, 0x35, 0x12, 0x27, 0x12, 0x25, 0x0a, 16}, bytes.Repeat([]byte{9}, 16), {0x12, 8}, bytes.Repeat([]byte{7}, 8),
		{0x39}, bytes.Repeat([]byte{7}, 8),
		{0x0a, 0x05, 0x0a, 0x03, 0x0a, 0x01, 'k'}, {0x0a, 0x03, 0x0a, 0x01, 0x00}}, nil)
	return [][]byte{ours, others, odd, behind, bytes.Join([][]byte{ours, others, odd}, nil), nil, ours[:len(ours)-3], {0xff}}
}

func TestRequestsAreReadAsProtobufReadsThem(t *testing.T) {
	total := int64(0)
	for i, example := range examples(t) {
		agree(t, example)
		n, err := count(example)
		all, rejected, readError := viaReader(example)
		if readError == nil && (err != nil || n != int64(len(all))+rejected) {
			t.Errorf("example %d: counted %d, %v; read %d and %d rejected", i, n, err, len(all), rejected)
		}
		total += int64(len(all))
	}
	if total < 25 {
		t.Errorf("the examples have only %d spans", total)
	}
}

// agree checks that what protobuf reads is read in the same way.
func agree(t *testing.T, request []byte) {
	t.Helper()
	want, wantRejected, wantErr := viaProtobuf(t, request)
	got, rejected, err := viaReader(request)
	if wantErr == nil && (err != nil || rejected != wantRejected || !reflect.DeepEqual(got, want)) {
		t.Errorf("%x\n got %+v, %d rejected, %v\nwant %+v, %d rejected", request, got, rejected, err, want, wantRejected)
	}
}

// Whatever comes is read as protobuf reads it; what protobuf cannot read does no harm.
func FuzzRequest(f *testing.F) {
	for _, example := range examples(f) {
		f.Add(example)
	}
	f.Fuzz(agree)
}

func TestNamesAreBounded(t *testing.T) {
	n := newNames()
	a, b, again := n.of([]byte("a")), n.of([]byte("b")), n.of([]byte("a"))
	if n.of(nil) != noName || a != again || a == b {
		t.Error("equal texts have one number, others another")
	}
	if got := n.name(n.of([]byte("a\xff"))); got != "a?" {
		t.Errorf("what is no UTF-8 became %q", got)
	}
	long := bytes.Repeat([]byte("x"), mostNameBytes)
	for i := range mostNames / mostNameBytes {
		n.of(fmt.Appendf(nil, "%08d%s", i, long)) // its end is cut off
	}
	first := n.of(fmt.Appendf(nil, "%08d%s", 0, long))
	if late := n.of([]byte("late")); n.name(late) != Others || first == otherName {
		t.Errorf("after %d bytes of names a new one is %q, the first %d", n.bytes, n.name(late), first)
	}
	if n.bytes > mostNames+mostNameBytes+64 {
		t.Errorf("names have %d bytes, at most %d were wanted", n.bytes, mostNames)
	}
}

func named(service, replica string) []*common.KeyValue {
	return []*common.KeyValue{text("service.name", service), text("service.instance.id", replica)}
}
