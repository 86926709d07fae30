package service

import (
	"context"
	"net"

	"loadstone.dev/stone/platform/delay"
	"loadstone.dev/stone/zmtp"
)

// HandleMessages has the service listen as a ZeroMQ socket, REP or ROUTER, whose requests have at most limit bytes.
func (h *Host) HandleMessages(kind zmtp.Kind, limit int, handle zmtp.Handler) {
	delayed := handle
	if h.Config.Delay > 0 {
		delayed = func(ctx context.Context, request zmtp.Message, err error) zmtp.Message {
			delay.Wait(ctx, h.Config.Delay)
			return handle(ctx, request, err)
		}
	}
	h.messages = zmtp.NewServer(kind, limit, delayed, zmtp.Counts{
		Malformed: h.Counter("malformed messages"), Oversized: h.Counter("oversized messages"), Lost: h.Counter("lost replies"),
	})
}

// TraceMessage begins the span of a request that came in a message with this W3C Trace Context, and returns what ends it.
func (h *Host) TraceMessage(ctx context.Context, parent, state, verb string) (context.Context, func(error)) {
	return h.tracing.Message(ctx, parent, state, verb)
}

func (h *Host) serveMessages(listener net.Listener, failed chan<- error) func() {
	h.whenReady(func() {})
	go func() {
		if err := h.messages.Serve(listener); err != nil {
			failed <- err
		}
	}()
	return func() {
		h.messages.Stop(stopTimeout)
		_ = listener.Close()
	}
}
