package transport

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// window is the flow-control window of connections and streams. A fixed one spares the pings with which gRPC else
// estimates the bandwidth: two more packets for most calls.
const window = 1 << 20

// rpc carries gRPC calls over one connection, which grpc-go makes anew when it is lost.
type rpc struct {
	dialer *Dialer
	link   *link
	conn   *grpc.ClientConn
}

func newRPC(d *Dialer, address string) (*rpc, error) {
	c := &rpc{dialer: d, link: &link{connector: d.connector(address)}}
	var err error
	c.conn, err = grpc.NewClient("passthrough:///"+address,
		grpc.WithContextDialer(c.link.connect), grpc.WithTransportCredentials(c.link), grpc.WithAuthority(d.host),
		grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDisableHealthCheck(), grpc.WithDisableRetry(),
		grpc.WithIdleTimeout(0), grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
		// While it cannot connect calls fail at once. The rests between attempts are the connector's.
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: d.settings.Timeout, Backoff: backoff.Config{}}),
	)
	if err != nil {
		return nil, because(err)
	}
	return c, nil
}

// Connect waits until the connection is there.
func (c *rpc) Connect(ctx context.Context) error {
	c.conn.Connect()
	for state := c.conn.GetState(); state != connectivity.Ready; state = c.conn.GetState() {
		switch {
		case state == connectivity.TransientFailure:
			if err := c.link.last(); err != nil {
				return err
			}
			return notHTTP2
		case !c.conn.WaitForStateChange(ctx, state):
			return because(ctx.Err())
		}
	}
	if err := c.dialer.schema.learn(ctx, reflect(c.conn)); err != nil {
		return grpcFailure(err)
	}
	return nil
}

// Call sends the message that the request's body describes to the method that its path names.
func (c *rpc) Call(ctx context.Context, request []byte) (answer Answer, err error) {
	ready, err := c.dialer.schema.prepare(request)
	if err != nil {
		return Answer{Detail: err.Error()}, noMessage
	}
	answer, err = c.invoke(ctx, ready)
	if err != nil {
		answer.Detail, err = err.Error(), KindOf(err)
	}
	return answer, err
}

func (c *rpc) invoke(ctx context.Context, ready prepared) (answer Answer, err error) {
	got := reply{whole: c.dialer.settings.Limit > 0}
	var header, trailer metadata.MD
	options := []grpc.CallOption{grpc.ForceCodecV2(wire{})}
	if got.whole {
		options = append(options, grpc.Header(&header), grpc.Trailer(&trailer))
	}
	if len(ready.metadata) > 0 {
		ctx = metadata.NewOutgoingContext(ctx, ready.metadata)
	}
	err = c.conn.Invoke(ctx, ready.method.path, ready.message, &got, options...)
	if err == nil || ended(ctx) == nil && status.Code(err) != codes.Unavailable {
		c.link.connector.answered.Store(true)
	}
	if answer.Size = int64(got.size); got.whole {
		answer.Header = headerLines(http.Header(metadata.Join(header, trailer)))
	}
	switch {
	case err != nil && ended(ctx) != nil:
		return answer, &failure{KindOf(ended(ctx)), err}
	case status.Code(err) == codes.Unavailable && c.link.last() != nil:
		return answer, c.link.last()
	case err != nil:
		return answer, grpcFailure(err)
	}
	answer.Status = http.StatusOK
	if got.whole {
		if answer.Body, err = ready.method.decode(got.data); err != nil {
			return answer, &failure{badMessage, err}
		}
		answer.Body = answer.Body[:min(int64(len(answer.Body)), c.dialer.settings.Limit)]
	}
	return answer, nil
}

// ended says whether a call's time is up. Servers know the deadline too, and their word of it may be here before the
// context's own.
func ended(ctx context.Context) error {
	if deadline, set := ctx.Deadline(); set && ctx.Err() == nil && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

func (c *rpc) Close() error { return c.conn.Close() }

// statusNames are the codes of gRPC as kinds of failure.
var statusNames = func() (names [17]Error) {
	for code := range names {
		names[code] = Error("grpc " + codes.Code(code).String())
	}
	return names
}()

// grpcFailure makes of a gRPC status a kind of its code, with its message besides.
func grpcFailure(err error) error {
	reported, is := status.FromError(err)
	if !is {
		return because(err)
	}
	if code := int(reported.Code()); code < len(statusNames) {
		return &failure{statusNames[code], err}
	}
	return &failure{statusNames[codes.Unknown], err}
}
