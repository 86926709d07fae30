package health

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func get(t *testing.T, h *Health, path string) (int, State) {
	t.Helper()
	mux := http.NewServeMux()
	h.Register(mux)
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	var state State
	if err := json.Unmarshal(answer.Body.Bytes(), &state); err != nil {
		t.Fatalf("%s: %v in %q", path, err, answer.Body)
	}
	return answer.Code, state
}

func TestReadyOnceEveryConditionWasMet(t *testing.T) {
	h := New()
	missing := errors.New("geo-db.geo holds 0 of 80 documents")
	h.Need("data", func(context.Context) error { return missing })
	h.Need("cache", func(context.Context) error { return nil })

	code, state := get(t, h, "/readyz")
	if code != 503 || state.Ready || len(state.Reasons) != 1 || state.Reasons["data"] != missing.Error() {
		t.Fatalf("before: %d %+v", code, state)
	}
	if code, _ := get(t, h, "/healthz"); code != 200 {
		t.Errorf("alive but not ready: /healthz says %d", code)
	}
	missing = nil
	if code, state = get(t, h, "/readyz"); code != 200 || !state.Ready {
		t.Fatalf("after: %d %+v", code, state)
	}
	missing = errors.New("store went away")
	code, state = get(t, h, "/readyz")
	if code != 200 || !state.Ready || state.Degraded["data"] != "store went away" {
		t.Errorf("degraded: %d %+v", code, state)
	}
}

func TestACheckThatHangsIsBounded(t *testing.T) {
	h := New()
	h.Need("store", func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if code, state := get(t, h, "/readyz"); code != 503 || state.Reasons["store"] == "" {
		t.Errorf("%d %+v", code, state)
	}
}

// The check of a cache ends by its own timeout, which is longer than that of those who ask.
func TestACheckThatIgnoresItsContextIsBoundedToo(t *testing.T) {
	h, hung := New(), make(chan struct{})
	stuck := false
	h.Need("cache", func(context.Context) error {
		if stuck {
			<-hung
		}
		return nil
	})
	if code, _ := get(t, h, "/readyz"); code != 200 {
		t.Errorf("code %d", code)
	}
	stuck = true
	late := time.AfterFunc(time.Minute, func() { close(hung) })
	if code, state := get(t, h, "/readyz"); code != 200 || !state.Ready || state.Degraded["cache"] == "" {
		t.Errorf("%d %+v", code, state)
	}
	if late.Stop() {
		close(hung)
	}
}
