package tracing

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// ServerInterceptors are those of a gRPC server: none if tracing is off.
func (t *Tracing) ServerInterceptors() []grpc.UnaryServerInterceptor {
	if t == nil {
		return nil
	}
	return []grpc.UnaryServerInterceptor{t.serveRPC}
}

func (t *Tracing) serveRPC(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if strings.HasPrefix(info.FullMethod, "/grpc.") { // health and reflection
		return handle(ctx, request)
	}
	ctx, span := t.serve(ctx, first(ctx, traceparent), first(ctx, tracestate), info.FullMethod[1:])
	answer, err := handle(ctx, request)
	span.endWith(err)
	return answer, err
}

// DialOptions are those of a gRPC client of a need: none if tracing is off.
func (t *Tracing) DialOptions(need string) []grpc.DialOption {
	if t == nil {
		return nil
	}
	neighbour := t.neighbour(need)
	call := func(ctx context.Context, method string, request, answer any, connection *grpc.ClientConn,
		invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		ctx, span := neighbour.call(ctx, method[1:], "")
		err := invoke(telling(ctx), method, request, answer, connection, options...)
		span.endWith(err)
		return err
	}
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(call)}
}

// first is a value of the metadata of a call that came in; empty where there is none.
func first(ctx context.Context, key string) string {
	if values := metadata.ValueFromIncomingContext(ctx, key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// telling has the metadata of a call say whose part it is.
func telling(ctx context.Context) context.Context {
	switch parentHeader, stateHeader := headers(ctx); {
	case parentHeader == "":
		return ctx
	case stateHeader == "":
		return metadata.AppendToOutgoingContext(ctx, traceparent, parentHeader)
	default:
		return metadata.AppendToOutgoingContext(ctx, traceparent, parentHeader, tracestate, stateHeader)
	}
}
