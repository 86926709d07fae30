package delay

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"google.golang.org/grpc"
)

const late = 3 * time.Millisecond

func TestWaitLastsAtLeastAsLongAsRequested(t *testing.T) {
	for _, d := range []time.Duration{0, 50 * time.Microsecond, time.Millisecond, late} {
		begun := time.Now()
		Wait(t.Context(), d)
		if lasted := time.Since(begun); lasted < d {
			t.Errorf("a wait of %v lasted %v", d, lasted)
		}
	}
}

func TestWaitEndsWithItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	begun := time.Now()
	Wait(ctx, time.Hour)
	if lasted := time.Since(begun); lasted > time.Minute {
		t.Errorf("a cancelled wait lasted %v", lasted)
	}
}

func TestRequestsAreDelayedAndReadinessIsNot(t *testing.T) {
	handler := HTTP(time.Hour, http.NotFoundHandler())
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/readyz", nil))
	begun := time.Now()
	HTTP(late, http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/hotels", nil))
	if lasted := time.Since(begun); lasted < late {
		t.Errorf("it lasted %v", lasted)
	}
}

func TestCallsAreDelayedAndReadinessIsNot(t *testing.T) {
	handle := func(context.Context, any) (any, error) { return "answer", nil }
	answer, err := RPC(time.Hour)(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/grpc.health.v1.Health/Check"}, handle)
	if answer != "answer" || err != nil {
		t.Fatal(answer, err)
	}
	begun := time.Now()
	_, _ = RPC(late)(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/geo.Geo/Nearby"}, handle)
	if lasted := time.Since(begun); lasted < late {
		t.Errorf("it lasted %v", lasted)
	}
}

func TestThriftCallsAreDelayedBetweenArgumentsAndHandler(t *testing.T) {
	var read, handled time.Time
	next := thrift.WrappedTProcessorFunction{
		Wrapped: func(ctx context.Context, _ int32, in, _ thrift.TProtocol) (bool, thrift.TException) {
			read = time.Now()
			if err := in.ReadMessageEnd(ctx); err != nil {
				t.Error(err)
			}
			handled = time.Now()
			return true, nil
		},
	}
	in := thrift.NewTBinaryProtocolConf(thrift.NewTMemoryBuffer(), nil)
	Thrift(late)("compose", next).Process(t.Context(), 1, in, in)
	if lasted := handled.Sub(read); lasted < late {
		t.Errorf("it lasted %v", lasted)
	}
}

// BenchmarkWait measures by how much a wait is longer than requested: median and 99th percentile.
func BenchmarkWait(b *testing.B) {
	for _, d := range []time.Duration{50 * time.Microsecond, 100 * time.Microsecond, 500 * time.Microsecond, 5 * time.Millisecond} {
		b.Run(d.String(), func(b *testing.B) {
			over := make([]time.Duration, 0, b.N)
			for b.Loop() {
				begun := time.Now()
				Wait(b.Context(), d)
				over = append(over, time.Since(begun)-d)
			}
			slices.Sort(over)
			b.ReportMetric(float64(over[len(over)/2].Nanoseconds()), "over-p50-ns")
			b.ReportMetric(float64(over[len(over)*99/100].Nanoseconds()), "over-p99-ns")
		})
	}
}
