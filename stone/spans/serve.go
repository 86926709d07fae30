package spans

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	headerWithin = 5 * time.Second
	bodyWithin   = 30 * time.Second
	closeWithin  = 2 * time.Second
)

// Listeners are where spans arrive.
type Listeners struct{ GRPC, HTTP net.Listener }

// Serve takes spans for a recorder until ctx ends. Then nothing comes to the recorder any more.
func Serve(ctx context.Context, on Listeners, of *Recorder) error {
	group, ctx := errgroup.WithContext(ctx)
	overGRPC := grpcServer(of)
	group.Go(func() error { return overGRPC.Serve(on.GRPC) })
	group.Go(func() error {
		<-ctx.Done()
		late := time.AfterFunc(closeWithin, overGRPC.Stop)
		defer late.Stop()
		overGRPC.GracefulStop()
		return nil
	})
	overHTTP := &http.Server{Handler: httpHandler(of), ReadHeaderTimeout: headerWithin, ReadTimeout: bodyWithin, IdleTimeout: time.Minute}
	group.Go(func() error {
		if err := overHTTP.Serve(on.HTTP); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		if overHTTP.Shutdown(closing) != nil {
			_ = overHTTP.Close()
		}
		return nil
	})
	return group.Wait()
}
