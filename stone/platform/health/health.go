// Package health answers whether a service lives and whether it is ready.
//
// A service is ready once each of its conditions (a store answers, its data is loaded, a needed
// service is connected) has been met. From then on it stays ready: when a neighbour goes away later
// it answers what it still can, and taking all its replicas out of service would only turn one
// failure into two. What does not hold any more is listed as degraded.
package health

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

// checkTimeout bounds the answer to one /readyz; an orchestrator's own probe waits a second or more.
const checkTimeout = 800 * time.Millisecond

// Check returns nil if its condition holds, else the reason why it does not.
type Check func(ctx context.Context) error

// Health is the set of conditions of one service. Safe for concurrent use.
type Health struct {
	mutex      sync.Mutex
	conditions []condition
	ready      bool
}

type condition struct {
	name  string
	check Check
}

// New starts without conditions.
func New() *Health { return &Health{} }

// Need adds a condition, named after what is needed ("memcached-rate").
func (h *Health) Need(name string, check Check) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.conditions = append(h.conditions, condition{name, check})
}

// State is what /readyz says.
type State struct {
	Ready bool `json:"ready"`
	// Reasons says by condition why the service is not ready yet.
	Reasons map[string]string `json:"reasons,omitempty"`
	// Degraded says by condition what no longer holds for a service that is ready.
	Degraded map[string]string `json:"degraded,omitempty"`
}

// State evaluates every condition now, all at the same time. One that has no answer in time does not hold, whether or not
// its check ends then: those of caches end by timeouts of their own.
func (h *Health) State(ctx context.Context) State {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	h.mutex.Lock()
	conditions := h.conditions
	h.mutex.Unlock()

	failed := make(map[string]string)
	answers := make([]chan error, len(conditions))
	for i, condition := range conditions {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- condition.check(ctx) }()
	}
	for i, condition := range conditions {
		var err error
		select {
		case err = <-answers[i]:
		case <-ctx.Done():
			select {
			case err = <-answers[i]: // it may say more than that the time is over
			default:
				err = errors.New("no answer in time")
			}
		}
		if err != nil {
			failed[condition.name] = err.Error()
		}
	}

	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.ready = h.ready || len(failed) == 0
	if h.ready {
		return State{Ready: true, Degraded: failed}
	}
	return State{Reasons: failed}
}

// Register serves /healthz and /readyz on a mux.
func (h *Health) Register(mux *http.ServeMux) {
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]bool{"alive": true})
	})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		state := h.State(r.Context())
		status := http.StatusOK
		if !state.Ready {
			status = http.StatusServiceUnavailable
		}
		write(w, status, state)
	})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only if the asker went away
}
