package rpc

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // lets clients watch the health that servers tell
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"loadstone.dev/stone/platform/config"
)

// callTimeout ends a call whose caller set no deadline. It is longer than any latency that a load
// generator still counts as good; it keeps a stuck neighbour from holding requests for ever.
const callTimeout = 10 * time.Second

// Dial prepares a client of a service's replicas; calls go round robin over those that are
// connected and say that they are ready (gRPC health checking protocol). A single host name stands
// for all its addresses in DNS, a single file ("file:/path") lists the replicas, and both are read
// again every second; otherwise the addresses are the replicas. It connects in the background and
// reconnects within a second. The options add to what every client is given.
func Dial(addresses []string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	target, replicas := target(addresses)
	connection, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithResolvers(replicas),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": ""}}`),
		grpc.WithUnaryInterceptor(withDeadline),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: keepaliveInterval, Timeout: keepaliveTimeout, PermitWithoutStream: true,
		}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: time.Second,
		}),
		grpc.WithIdleTimeout(0),
		grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(window),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("client of %v: %w", addresses, err)
	}
	connection.Connect()
	return connection, nil
}

// target is what stands for the addresses, and what resolves it.
func target(addresses []string) (string, resolver.Builder) {
	if len(addresses) == 1 {
		if file, is := strings.CutPrefix(addresses[0], config.FilePrefix); is {
			return "listed:///replicas", listed{file}
		}
		host, _, err := net.SplitHostPort(addresses[0])
		if err == nil && net.ParseIP(host) == nil {
			return "named:///" + addresses[0], named{}
		}
	}
	var replicas resolver.State
	for _, address := range addresses {
		replicas.Addresses = append(replicas.Addresses, resolver.Address{Addr: address})
	}
	static := manual.NewBuilderWithScheme("static")
	static.InitialState(replicas)
	return "static:///replicas", static
}

func withDeadline(ctx context.Context, method string, request, answer any, connection *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if _, set := ctx.Deadline(); !set {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	return invoke(ctx, method, request, answer, connection, options...)
}

// Connected is a health check: it holds while at least one replica is connected and ready.
func Connected(connection *grpc.ClientConn) func(context.Context) error {
	return func(context.Context) error {
		if state := connection.GetState(); state != connectivity.Ready {
			return fmt.Errorf("not connected (%s)", state)
		}
		return nil
	}
}
