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
	ctx, span := t.serve(ctx, incoming{ctx}, info.FullMethod[1:])
	answer, err := handle(ctx, request)
	end(span, err)
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
		var pairs outgoing
		inject(ctx, &pairs)
		err := invoke(metadata.AppendToOutgoingContext(ctx, pairs...), method, request, answer, connection, options...)
		end(span, err)
		return err
	}
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(call)}
}

// incoming is the metadata of a call that came in.
type incoming struct{ ctx context.Context }

func (i incoming) Get(key string) string {
	if values := metadata.ValueFromIncomingContext(i.ctx, key); len(values) > 0 {
		return values[0]
	}
	return ""
}

func (incoming) Set(string, string) {}
func (incoming) Keys() []string     { return nil }

// outgoing is metadata as keys and values by turns.
type outgoing []string

func (outgoing) Get(string) string        { return "" }
func (o *outgoing) Set(key, value string) { *o = append(*o, key, value) }
func (outgoing) Keys() []string           { return nil }
