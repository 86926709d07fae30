package hotel

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"loadstone.dev/stone/platform/logging"
)

// endpoint answers one path with a body for JSON. Its errors: badRequest, and what an RPC returned.
type endpoint func(ctx context.Context, query url.Values) (any, error)

type web struct{ failures *logging.Limited }

func newWeb(log *slog.Logger) web { return web{logging.NewLimited(log)} }

func (s web) serve(answer endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		body, err := answer(r.Context(), r.URL.Query())
		if err != nil {
			s.fail(w, r, err)
			return
		}
		encoded, err := json.Marshal(body)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(encoded) // fails only if the asker went away
	}
}

// fail answers an error as text: 400 and 404 are the caller's, anything else is 500.
func (s web) fail(w http.ResponseWriter, r *http.Request, err error) {
	var bad badRequest
	if errors.As(err, &bad) {
		http.Error(w, bad.Error(), http.StatusBadRequest)
		return
	}
	switch cause := status.Convert(err); cause.Code() {
	case codes.InvalidArgument:
		http.Error(w, cause.Message(), http.StatusBadRequest)
	case codes.NotFound:
		http.Error(w, cause.Message(), http.StatusNotFound)
	default:
		if r.Context().Err() == nil { // else the asker went away, which is no failure of ours
			s.failures.Warn("request failed", "path", r.URL.Path, "error", err.Error())
		}
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
