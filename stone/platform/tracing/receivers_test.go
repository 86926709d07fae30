package tracing

import (
	"context"
	"fmt"
	"testing"

	"loadstone.dev/stone/platform/tracing/tracetest"
)

func TestATraceGoesToOneOfSeveralCollectorsFromEveryService(t *testing.T) {
	const traces = 600
	collectors := []*tracetest.Collector{tracetest.New(t), tracetest.New(t), tracetest.New(t)}
	all := collectors[0].Address + "," + collectors[1].Address + "," + collectors[2].Address
	front, rate := startTracing(t, "front", all, 1, mostQueued), startTracing(t, "rate", all, 1, mostQueued)
	for range traces {
		ctx, request := front.serve(context.Background(), "", "", "GET")
		ctx, call := front.neighbour("rate").call(ctx, "rate.Rate/GetRates", "")
		parent, state := headers(ctx)
		_, called := rate.serve(context.Background(), parent, state, "GetRates")
		called.end()
		call.end()
		request.end()
	}
	front.Stop()
	rate.Stop()
	front.expect(t, 2*traces, 0)
	rate.expect(t, traces, 0)
	seen := map[string]int{}
	for i, collector := range collectors {
		came := collector.Spans()
		of := map[string]int{}
		for _, span := range came {
			of[span.Instance]++
			if other, known := seen[span.Trace]; known && other != i {
				t.Fatalf("trace %s is at two collectors", span.Trace)
			}
			seen[span.Trace] = i
		}
		for instance, spans := range of {
			if reported := collector.Reported(instance, producedKey); reported != fmt.Sprint(spans) {
				t.Errorf("%s: collector %d has %d spans, of %s that were produced for it", instance, i, spans, reported)
			}
		}
		if len(came) < traces/2 { // of 3 * 600
			t.Errorf("collector %d has only %d spans", i, len(came))
		}
	}
	if len(seen) != traces {
		t.Errorf("%d traces came", len(seen))
	}
}

func TestACollectorThatIsAwayCostsItsOwnSpansAlone(t *testing.T) {
	const traces = 300
	there := tracetest.New(t)
	service := startTracing(t, "rate", there.Address+",127.0.0.1:1", 1, mostQueued)
	for range traces {
		service.request()
	}
	service.Stop()
	came := int64(len(there.Spans()))
	service.expect(t, traces, traces-came)
	if reported := there.Reported("rate-1", droppedKey); came == 0 || came == traces || reported != "0" {
		t.Errorf("%d spans came; it reported %s dropped", came, reported)
	}
}
