package tracing

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/tracing/tracetest"
)

// traced is a tracing with its counters and its log.
type traced struct {
	*Tracing
	produced, dropped *atomic.Int64
	log               *log
}

type log struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (l *log) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.Write(line)
}

func (l *log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.buffer.String()
}

func startTracing(t testing.TB, name, collector string, sample float64, queue int) traced {
	t.Helper()
	counters := make(map[string]*atomic.Int64)
	counter := func(name string) *atomic.Int64 {
		counters[name] = new(atomic.Int64)
		return counters[name]
	}
	lines := &log{}
	settings := config.Traces{Collectors: strings.Split(collector, ","), Sample: sample, Interval: 100 * time.Millisecond, Replica: name + "-1"}
	started, err := start("test/"+name, settings, slog.New(slog.NewTextHandler(lines, nil)), counter, queue)
	if err != nil {
		t.Fatal(err)
	}
	return traced{started, counters["spans produced"], counters["spans dropped"], lines}
}

// request is the span of one request.
func (t traced) request() {
	_, span := t.serve(context.Background(), "", "", "request")
	span.end()
}

func (t traced) expect(test *testing.T, produced, dropped int64) {
	test.Helper()
	if t.produced.Load() != produced || t.dropped.Load() != dropped {
		test.Errorf("produced %d, dropped %d; want %d and %d; log:\n%s", t.produced.Load(), t.dropped.Load(), produced, dropped, t.log)
	}
}

func TestWhatEndedIsSentWhenTheServiceStops(t *testing.T) {
	to := tracetest.New(t)
	service := startTracing(t, "rate", to.Address, 1, mostQueued)
	const many = 2*batch + 1
	for range many {
		service.request()
	}
	service.Stop()
	service.expect(t, many, 0)
	if got := len(to.Spans()); got != many {
		t.Errorf("%d spans came", got)
	}
	if reported := to.Reported("rate-1", "stone-spans-produced"); reported != fmt.Sprint(many) {
		t.Errorf("it reported %s", reported)
	}
}

func TestWithoutACollectorSpansAreDroppedAndNothingWaits(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	service := startTracing(t, "rate", listener.Addr().String(), 1, 4)
	for range 10 {
		service.request()
	}
	service.Stop()
	service.expect(t, 10, 10)
	if lines := service.log.String(); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, "dropped=10 of=10") {
		t.Errorf("log:\n%s", lines)
	}
}

func TestASlowCollectorCostsSpansButNoRequestTime(t *testing.T) {
	to := tracetest.New(t)
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	to.Answer(func() (*collector.ExportTraceServiceResponse, error) {
		arrived <- struct{}{}
		<-release
		return nil, status.Error(codes.Internal, "too late")
	})
	service := startTracing(t, "rate", to.Address, 1, 4)
	service.request()
	<-arrived
	for range 10 { // six of them find the queue full, at once
		service.request()
	}
	service.expect(t, 11, 6)
	service.Stop() // gives up on it
	close(release)
	service.expect(t, 11, 11)
}

func TestWhatTheCollectorRefuses(t *testing.T) {
	to := tracetest.New(t)
	service := startTracing(t, "rate", to.Address, 1, mostQueued)
	defer service.Stop()
	refuse := func(answer *collector.ExportTraceServiceResponse, failure error) {
		t.Helper()
		arrived := make(chan struct{})
		var once sync.Once
		to.Answer(func() (*collector.ExportTraceServiceResponse, error) {
			defer once.Do(func() { close(arrived) })
			return answer, failure
		})
		service.request()
		<-arrived
	}
	dropped := func(count int64) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); service.dropped.Load() != count; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("dropped %d, want %d", service.dropped.Load(), count)
			}
		}
	}
	refuse(nil, status.Error(codes.InvalidArgument, "no"))
	dropped(1) // for good
	refuse(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 1}}, nil)
	dropped(2)
	refuse(nil, status.Error(codes.ResourceExhausted, "later")) // is tried again
	to.Answer(func() (*collector.ExportTraceServiceResponse, error) {
		return &collector.ExportTraceServiceResponse{}, nil
	})
	to.Wait(t, "the third span", func(spans []tracetest.Span) bool { return len(spans) == 1 })
	service.expect(t, 3, 2)
}

func TestEveryServiceSamplesTheSameRequests(t *testing.T) {
	to := tracetest.New(t)
	entry, inner := startTracing(t, "entry", to.Address, 0.5, mostQueued), startTracing(t, "inner", to.Address, 0.01, mostQueued)
	need := entry.neighbour("inner")
	const requests = 400
	for range requests {
		ctx, root := entry.serve(t.Context(), "", "", "request")
		ctx, call := need.call(ctx, "call", "")
		parentHeader, stateHeader := headers(ctx)
		if parentHeader == "" {
			t.Fatal("an inner service would decide anew")
		}
		_, served := inner.serve(t.Context(), parentHeader, stateHeader, "call")
		served.end()
		call.end()
		root.end()
	}
	entry.Stop()
	inner.Stop()
	byTrace := make(map[string][]tracetest.Span)
	for _, one := range to.Spans() {
		byTrace[one.Trace] = append(byTrace[one.Trace], one)
	}
	for _, spans := range byTrace {
		if got := tracetest.Tree(t, spans).String(); strings.Count(got, "\n") != 3 {
			t.Errorf("not whole:\n%s", got)
		}
	}
	// Either end is less likely than 1 in 10^100.
	if sampled := len(byTrace); sampled < 20 || sampled > 380 {
		t.Errorf("%d of %d requests are traced", sampled, requests)
	}
	entry.expect(t, int64(2*len(byTrace)), 0)
}
