package tracing

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"loadstone.dev/stone/platform/tracing/tracetest"
)

// What tracing adds to a call that comes in, reads a store and calls another service: off there is nothing of it.
func BenchmarkCall(b *testing.B) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0"
	for name, traceparent := range map[string]string{"sampled": parent + "1", "not sampled": parent + "0"} {
		b.Run(name, func(b *testing.B) {
			service := startTracing(b, "rate", tracetest.New(b).Address, 1, 1<<20)
			defer service.Stop()
			came := metadata.NewIncomingContext(context.Background(), metadata.Pairs("traceparent", traceparent))
			store, next := service.neighbour("memcached-rate"), service.neighbour("geo")
			info := &grpc.UnaryServerInfo{FullMethod: "/rate.Rate/GetRates"}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = service.serveRPC(came, nil, info, func(ctx context.Context, _ any) (any, error) {
					store.access(ctx, "MGET", "").end()
					ctx, span := next.call(ctx, "geo.Geo/Nearby", "")
					_ = telling(ctx)
					span.end()
					return nil, nil
				})
			}
		})
	}
	b.Run("root not sampled", func(b *testing.B) {
		service := startTracing(b, "front", tracetest.New(b).Address, 0, 1<<20)
		defer service.Stop()
		b.ReportAllocs()
		for b.Loop() {
			_, span := service.serve(context.Background(), "", "", "GET")
			span.end()
		}
	})
}
