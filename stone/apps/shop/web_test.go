package shop

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"loadstone.dev/stone/platform/web"
)

func TestAnEndpointGivesUpBeforeItsCaller(t *testing.T) {
	answer := serve(newSite(slog.New(slog.NewTextHandler(io.Discard, nil))), func(r *http.Request) (any, error) {
		if deadline, set := r.Context().Deadline(); !set || time.Until(deadline) >= web.CallTimeout {
			t.Errorf("deadline %v, set %t", deadline, set)
		}
		return nil, nil
	})
	answer(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/users/1", nil))
}
