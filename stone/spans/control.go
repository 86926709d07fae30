package spans

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"
)

const mostOrderBytes = 64 << 10

// order is what a trial's begin and end may be told.
type order struct {
	File   string  `json:"file"`
	Since  int64   `json:"since_ns"`
	Quiet  float64 `json:"quiet_s"`
	Within float64 `json:"within_s"`
}

// controlHandler lets a conductor begin and end trials:
//
//	POST /trials      {"file": "/abs/spans.parquet", "since_ns": 0}  begins one
//	POST /trials/end  {"quiet_s": 1.2, "within_s": 10}               ends it: Counts
//	GET  /counts                                                     Counts so far
//	GET  /healthz                                                    {"alive": true}
//
// Errors are {"error": "..."} with 400 (bad input), 409 (not now) or 500.
func controlHandler(of *Recorder) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]bool{"alive": true})
	})
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, of.Counts())
	})
	mux.HandleFunc("POST /trials", func(w http.ResponseWriter, r *http.Request) {
		wanted, err := readOrder(w, r, order{})
		if err == nil {
			err = of.Begin(wanted.File, wanted.Since)
		}
		if err != nil {
			fail(w, err)
			return
		}
		write(w, http.StatusOK, map[string]string{"file": wanted.File})
	})
	mux.HandleFunc("POST /trials/end", func(w http.ResponseWriter, r *http.Request) {
		wanted, err := readOrder(w, r, order{Quiet: 1.2, Within: 10})
		var counts Counts
		if err == nil {
			counts, err = of.End(seconds(wanted.Quiet), seconds(wanted.Within))
		}
		if err != nil {
			fail(w, err)
			return
		}
		write(w, http.StatusOK, counts)
	})
	return mux
}

// readOrder reads a body of JSON over the defaults; an empty one leaves them.
func readOrder(w http.ResponseWriter, r *http.Request, wanted order) (order, error) {
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostOrderBytes))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wanted); err != nil && !errors.Is(err, io.EOF) {
		return wanted, fmt.Errorf("%w: %s: %w", ErrBad, r.URL.Path, err)
	}
	if !(wanted.Quiet >= 0 && wanted.Within >= 0) {
		return wanted, fmt.Errorf("%w: quiet_s %v, within_s %v: give seconds, 0 or more", ErrBad, wanted.Quiet, wanted.Within)
	}
	return wanted, nil
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s, math.MaxInt64/2/float64(time.Second)) * float64(time.Second))
}

func fail(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, ErrBad):
		code = http.StatusBadRequest
	case errors.Is(err, ErrConflict):
		code = http.StatusConflict
	}
	write(w, code, map[string]string{"error": err.Error()})
}

func write(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // fails only if the asker went away
}
