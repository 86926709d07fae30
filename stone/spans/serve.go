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

// Listeners are where a receiver listens; nil: not there.
type Listeners struct{ GRPC, HTTP, Control net.Listener }

// Serve takes spans and orders for a recorder until ctx ends. Then nothing comes to the recorder any more.
func Serve(ctx context.Context, on Listeners, of *Recorder) error {
	group, ctx := errgroup.WithContext(ctx)
	if on.GRPC != nil {
		server := grpcServer(of)
		group.Go(func() error { return server.Serve(on.GRPC) })
		group.Go(func() error {
			<-ctx.Done()
			late := time.AfterFunc(closeWithin, server.Stop)
			defer late.Stop()
			server.GracefulStop()
			return nil
		})
	}
	for listener, handler := range map[net.Listener]http.Handler{on.HTTP: httpHandler(of), on.Control: controlHandler(of)} {
		if listener == nil {
			continue
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: headerWithin, ReadTimeout: bodyWithin, IdleTimeout: time.Minute}
		group.Go(func() error {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
		group.Go(func() error {
			<-ctx.Done()
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
			defer cancel()
			if server.Shutdown(closing) != nil {
				_ = server.Close()
			}
			return nil
		})
	}
	return group.Wait()
}
