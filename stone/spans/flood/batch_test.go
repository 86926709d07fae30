package main

import (
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A batch is a request of OTLP with whole traces, and no span is in two.
func TestBatch(t *testing.T) {
	spans, roots := map[string]bool{}, 0
	for number := range int64(3) {
		var request collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(appendBatch(nil, number), &request); err != nil {
			t.Fatal(err)
		}
		for _, span := range request.ResourceSpans[0].ScopeSpans[0].Spans {
			spans[string(span.SpanId)] = true
			if len(span.ParentSpanId) == 0 {
				roots++
			} else if !spans[string(span.ParentSpanId)] {
				t.Fatal("a span before its parent")
			}
		}
	}
	if len(spans) != 3*batchSpans || roots != 3*batchSpans/traceSpans {
		t.Errorf("%d spans, %d roots", len(spans), roots)
	}
}
