// Package rpc holds what every gRPC server and client of an application has in common.
package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
)

// window is the flow-control window of connections and streams, far larger than any message. A fixed
// one spares the pings with which gRPC else estimates the bandwidth: two more packets for most calls.
const window = 1 << 20

const (
	keepaliveInterval = 30 * time.Second
	keepaliveTimeout  = 10 * time.Second
)

// NewServer makes a gRPC server. The interceptors are around all else. A handler that panics answers Internal and is logged; an error
// that is no gRPC status answers Unavailable: it comes from a store or a neighbour.
func NewServer(log *slog.Logger, interceptors ...grpc.UnaryServerInterceptor) *grpc.Server {
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(append(interceptors, guard(log))...),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveInterval, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime: keepaliveInterval / 2, PermitWithoutStream: true,
		}),
		grpc.StaticStreamWindowSize(window),
		grpc.StaticConnWindowSize(window),
		// Standing workers keep their grown stacks between requests.
		grpc.NumStreamWorkers(uint32(2*runtime.GOMAXPROCS(0))),
	)
	reflection.Register(server) // so that one service can be loaded by itself, by anyone who can reach it
	return server
}

func guard(log *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				log.Error("handler panicked", "method", info.FullMethod, "cause", fmt.Sprint(cause))
				answer, err = nil, status.Errorf(codes.Internal, "%s: %v", info.FullMethod, cause)
			}
		}()
		answer, err = handle(ctx, request)
		if err != nil {
			err = asStatus(err)
		}
		return answer, err
	}
}

func asStatus(err error) error {
	if _, isStatus := status.FromError(err); isStatus {
		return err
	}
	if ctxStatus := status.FromContextError(err); ctxStatus.Code() != codes.Unknown {
		return ctxStatus.Err()
	}
	return status.Error(codes.Unavailable, err.Error())
}
