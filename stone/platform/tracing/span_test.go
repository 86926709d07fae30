package tracing

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"loadstone.dev/stone/platform/tracing/tracetest"
)

const someParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestTraceparents(t *testing.T) {
	for header, want := range map[string]struct{ sampled, is bool }{
		someParent:                                 {true, true},
		someParent[:53] + "00":                     {false, true},
		someParent[:53] + "03":                     {true, true},
		"cc" + someParent[2:] + "-what-is-to-come": {true, true},
		"cc" + someParent[2:]:                      {true, true},
		"ff" + someParent[2:]:                      {},
		"":                                         {},
		someParent + "-more":                       {},
		"cc" + someParent[2:] + "more":             {},
		someParent[:54]:                            {},
		strings.ToUpper(someParent):                {},
		strings.Replace(someParent, "-", "_", 1):   {},
		someParent[:10] + "g" + someParent[11:]:    {},
		"00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01":                 {},
		"00-0af7651916cd43dd8448eb211c80319c-" + strings.Repeat("0", 16) + "-01": {},
		declinedHere: {false, true},
	} {
		_, _, sampled, is := parse(header)
		if is != want.is || is && sampled != want.sampled {
			t.Errorf("%q: sampled %v, is %v", header, sampled, is)
		}
	}
	if got := known("cc" + someParent[2:] + "-more"); got != someParent {
		t.Error(got)
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add(someParent)
	f.Add(declinedHere)
	f.Add("cc" + someParent[2:] + "-x")
	f.Fuzz(func(t *testing.T, header string) {
		trace, parent, sampled, is := parse(header)
		if is && sampled {
			one := span{trace: trace, id: parent}
			if got := one.header(); got[3:52] != header[3:52] {
				t.Errorf("%q became %q", header, got)
			}
		}
	})
}

// The messages are those of OTLP's own library.
func TestMessages(t *testing.T) {
	began := time.Unix(1_700_000_000, 123)
	need := (&Tracing{}).neighbour("memcached-rate")
	serves := span{kind: 2, trace: newTrace(), id: newID(), verb: "GET", object: "/hotels", began: began, duration: 1500}
	calls := span{kind: 3, need: need, trace: serves.trace, id: newID(), parent: serves.id, verb: "MGET", began: began, duration: 7, failed: true, problem: "gone"}
	made := newEncoder(resource("service.name", "rate", "host.name", ""))
	for range 2 { // the second time in the same memory
		var got collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(made.request([]span{serves, calls}), &got); err != nil {
			t.Fatal(err)
		}
		of := got.ResourceSpans[0]
		if attributes := of.Resource.Attributes; len(attributes) != 2 || attributes[0].Key != "service.name" || attributes[0].Value.GetStringValue() != "rate" {
			t.Error(attributes)
		}
		if scope := of.ScopeSpans[0].Scope.Name; scope != "loadstone.dev/stone" {
			t.Error(scope)
		}
		first, second := of.ScopeSpans[0].Spans[0], of.ScopeSpans[0].Spans[1]
		if first.Name != "GET /hotels" || first.Kind != otlp.Span_SPAN_KIND_SERVER || len(first.ParentSpanId) != 0 || first.Status != nil ||
			first.StartTimeUnixNano != 1_700_000_000_000_000_123 || first.EndTimeUnixNano != first.StartTimeUnixNano+1500 || len(first.Attributes) != 0 {
			t.Error(first)
		}
		if second.Name != "MGET" || second.Kind != otlp.Span_SPAN_KIND_CLIENT || string(second.ParentSpanId) != string(first.SpanId) ||
			string(second.TraceId) != string(first.TraceId) || len(second.TraceId) != 16 || second.Status.Code != otlp.Status_STATUS_CODE_ERROR ||
			second.Status.Message != "gone" || second.Attributes[0].Key != "peer.service" || second.Attributes[0].Value.GetStringValue() != "memcached-rate" {
			t.Error(second)
		}
	}
}

func TestWhatAServiceDoesItself(t *testing.T) {
	collector := tracetest.New(t)
	service := startTracing(t, "payment", collector.Address, 1, mostQueued)
	defer service.Stop()
	ctx, request := service.serve(t.Context(), "", "", "GET")
	full := errors.New("full")
	if err := Do(ctx, "SleepTask", func() error { return nil }); err != nil {
		t.Error(err)
	}
	if err := Do(ctx, "LargeFileTask.write", func() error { return full }); err != full {
		t.Error(err)
	}
	request.object = "/payment"
	request.end()
	declined, _ := service.serve(t.Context(), someParent[:53]+"00", "", "GET")
	for _, ctx := range []context.Context{declined, t.Context()} {
		done := false
		if err := Do(ctx, "nothing", func() error { done = true; return full }); err != full || !done {
			t.Error(err, done)
		}
	}
	tree := collector.Request(t, "GET /payment")
	if got, want := tree.String(), "payment serves GET /payment\n  payment does LargeFileTask.write\n  payment does SleepTask\n"; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	if first, second := tree.Within[0], tree.Within[1]; !first.Failed || second.Failed || first.End > tree.End || first.Start < tree.Start || second.Peer != "" {
		t.Error(first.Span, second.Span)
	}
}

func TestWhatACallerSaysGoesOn(t *testing.T) {
	service := startTracing(t, "text", tracetest.New(t).Address, 1, mostQueued)
	defer service.Stop()
	sent := func(parentHeader string) (string, string) {
		ctx, span := service.serve(t.Context(), parentHeader, "vendor=1", "GET")
		defer span.end()
		ctx, cancel := context.WithCancel(ctx) // as handlers derive theirs
		defer cancel()
		return headers(ctx)
	}
	if header, state := sent(someParent); header[:36] != someParent[:36] || header[36:52] == someParent[36:52] || header[52:] != "-01" || state != "vendor=1" {
		t.Error(header, state)
	}
	if header, state := sent(someParent[:53] + "00"); header != someParent[:53]+"00" || state != "vendor=1" {
		t.Error(header, state)
	}
	if header, state := sent("nonsense"); len(header) != headerLength || header[3:35] == someParent[3:35] || state != "" {
		t.Error(header, state)
	}
	if header, state := headers(t.Context()); header != "" || state != "" {
		t.Error("outside of a request", header, state)
	}
}

func TestWhatIsNoTextDoesNotSpoilARequest(t *testing.T) {
	one := span{verb: "GET", object: "/\xff" + strings.Repeat("x", 5000), failed: true, problem: strings.Repeat("\u00e9", 5000)}
	var got collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(newEncoder(nil).request([]span{one}), &got); err != nil {
		t.Fatal(err)
	}
	made := got.ResourceSpans[0].ScopeSpans[0].Spans[0]
	if !strings.HasPrefix(made.Name, "GET /\uFFFDxxx") || len(made.Name) > 1100 || len(made.Status.Message) > 1100 {
		t.Error(made.Name, made.Status)
	}
}

func TestThresholds(t *testing.T) {
	if threshold(0) != 0 || threshold(1) != half || threshold(0.5) != half/2 {
		t.Error(threshold(0), threshold(1), threshold(0.5))
	}
}
