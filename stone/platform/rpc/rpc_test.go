package rpc

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// replica answers the standard health service, which needs no procedures of an application.
type replica struct {
	grpc_health_v1.UnimplementedHealthServer
	calls  atomic.Int64
	answer func(context.Context) error
}

func (r *replica) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	r.calls.Add(1)
	return &grpc_health_v1.HealthCheckResponse{}, r.answer(ctx)
}

// start serves a replica at an address ("127.0.0.1:0" for any port).
func start(t *testing.T, address string, answer func(context.Context) error) (*replica, *grpc.Server, string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(slog.New(slog.DiscardHandler))
	one := &replica{answer: answer}
	grpc_health_v1.RegisterHealthServer(server, one)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return one, server, listener.Addr().String()
}

func dial(t *testing.T, addresses ...string) (*grpc.ClientConn, grpc_health_v1.HealthClient) {
	t.Helper()
	connection, err := Dial(addresses)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection, grpc_health_v1.NewHealthClient(connection)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func good(context.Context) error { return nil }

func TestCallsGoRoundReplicas(t *testing.T) {
	a, _, addressA := start(t, "127.0.0.1:0", good)
	b, _, addressB := start(t, "127.0.0.1:0", good)
	_, client := dial(t, addressA, addressB)
	eventually(t, "both replicas answer", func() bool {
		_, err := client.Check(t.Context(), nil, grpc.WaitForReady(true))
		return err == nil && a.calls.Load() > 0 && b.calls.Load() > 0
	})
	before := a.calls.Load()
	for range 100 {
		if _, err := client.Check(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if share := a.calls.Load() - before; share != 50 {
		t.Errorf("one of two replicas got %d of 100 calls", share)
	}
}

func TestANameIsResolved(t *testing.T) {
	_, _, address := start(t, "127.0.0.1:0", good)
	_, port, _ := net.SplitHostPort(address)
	connection, client := dial(t, "localhost:"+port)
	if !strings.HasPrefix(connection.Target(), "named:///localhost") {
		t.Errorf("target %s", connection.Target())
	}
	if _, err := client.Check(t.Context(), nil, grpc.WaitForReady(true)); err != nil {
		t.Error(err)
	}
}

func TestAReplicaThatComesBackIsFound(t *testing.T) {
	_, server, address := start(t, "127.0.0.1:0", good)
	connection, client := dial(t, address)
	connected := Connected(connection)
	eventually(t, "connected", func() bool { return connected(t.Context()) == nil })
	server.Stop()
	eventually(t, "calls fail", func() bool {
		_, err := client.Check(t.Context(), nil)
		return status.Code(err) == codes.Unavailable && connected(t.Context()) != nil
	})
	start(t, address, good)
	eventually(t, "calls succeed again", func() bool {
		_, err := client.Check(t.Context(), nil)
		return err == nil && connected(t.Context()) == nil
	})
}

func TestEveryCallHasADeadline(t *testing.T) {
	var left time.Duration
	_, _, address := start(t, "127.0.0.1:0", func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
		return nil
	})
	_, client := dial(t, address)
	if _, err := client.Check(context.Background(), nil, grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	if left <= 0 || left > callTimeout {
		t.Errorf("the callee had %s left of %s", left, callTimeout)
	}
}

// health tells a state to those who watch.
type health struct {
	replica
	serving chan grpc_health_v1.HealthCheckResponse_ServingStatus
}

func (h *health) Watch(_ *grpc_health_v1.HealthCheckRequest, stream grpc.ServerStreamingServer[grpc_health_v1.HealthCheckResponse]) error {
	for {
		select {
		case state := <-h.serving:
			if err := stream.Send(&grpc_health_v1.HealthCheckResponse{Status: state}); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

func TestAReplicaThatIsNotReadyGetsNoCalls(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(slog.New(slog.DiscardHandler))
	one := &health{replica{answer: good}, make(chan grpc_health_v1.HealthCheckResponse_ServingStatus)}
	grpc_health_v1.RegisterHealthServer(server, one)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	connection, client := dial(t, listener.Addr().String())
	connected := Connected(connection)

	one.serving <- grpc_health_v1.HealthCheckResponse_NOT_SERVING
	eventually(t, "calls are refused", func() bool {
		_, err := client.Check(t.Context(), nil)
		return status.Code(err) == codes.Unavailable && connected(t.Context()) != nil
	})
	before := one.calls.Load()
	if _, err := client.Check(t.Context(), nil); err == nil || before != one.calls.Load() {
		t.Errorf("a call reached a replica that is not ready: error %v", err)
	}
	one.serving <- grpc_health_v1.HealthCheckResponse_SERVING
	if _, err := client.Check(t.Context(), nil, grpc.WaitForReady(true)); err != nil {
		t.Errorf("ready, yet: %v", err)
	}
	// gRPC lets calls through a moment before the connection's state says so.
	eventually(t, "the connection counts as ready", func() bool { return connected(t.Context()) == nil })
}

func TestErrorsBecomeStatuses(t *testing.T) {
	for _, one := range []struct {
		err  error
		want codes.Code
	}{
		{errors.New("store: connection refused"), codes.Unavailable},
		{status.Error(codes.NotFound, "hotel 999"), codes.NotFound},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
	} {
		_, _, address := start(t, "127.0.0.1:0", func(context.Context) error { return one.err })
		_, client := dial(t, address)
		if _, err := client.Check(t.Context(), nil, grpc.WaitForReady(true)); status.Code(err) != one.want {
			t.Errorf("%v became %v", one.err, err)
		}
	}
}

func TestAPanicIsAnErrorAndALogLine(t *testing.T) {
	var out bytes.Buffer
	intercept := guard(slog.New(slog.NewTextHandler(&out, nil)))
	_, err := intercept(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/hotel.Geo/Nearby"},
		func(context.Context, any) (any, error) { panic("nil map") })
	if status.Code(err) != codes.Internal || !strings.Contains(out.String(), "nil map") {
		t.Errorf("error %v, log %q", err, &out)
	}
}
