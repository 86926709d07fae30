// Package delay makes a service slower by a known time: what shows whether a set-up can see such a difference.
package delay

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"google.golang.org/grpc"
)

// spun is how long before the end of a delay the processor is kept: timers wake up to a millisecond late.
const spun = 1200 * time.Microsecond

// Wait lets d pass, exact to a few microseconds, and returns early where ctx ends.
func Wait(ctx context.Context, d time.Duration) {
	until := time.Now().Add(d)
	if d > spun {
		timer := time.NewTimer(d - spun)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
	for time.Now().Before(until) {
	}
}

// HTTP delays every request but those for readiness.
func HTTP(d time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
			Wait(r.Context(), d)
		}
		next.ServeHTTP(w, r)
	})
}

// RPC delays every call of a gRPC server but those for readiness.
func RPC(d time.Duration) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if !strings.HasPrefix(info.FullMethod, "/grpc.health.") {
			Wait(ctx, d)
		}
		return handle(ctx, request)
	}
}

// Thrift delays every call of a Thrift server, once its arguments have been read.
func Thrift(d time.Duration) thrift.ProcessorMiddleware {
	return func(_ string, next thrift.TProcessorFunction) thrift.TProcessorFunction {
		process := func(ctx context.Context, sequence int32, in, out thrift.TProtocol) (bool, thrift.TException) {
			return next.Process(ctx, sequence, delayed{in, d}, out)
		}
		return thrift.WrappedTProcessorFunction{Wrapped: process}
	}
}

// delayed is a call that arrives late: generated code reads to its end, then calls the handler.
type delayed struct {
	thrift.TProtocol
	by time.Duration
}

func (d delayed) ReadMessageEnd(ctx context.Context) error {
	err := d.TProtocol.ReadMessageEnd(ctx)
	Wait(ctx, d.by)
	return err
}
