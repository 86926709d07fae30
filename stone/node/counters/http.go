package counters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"
)

const (
	// MostContainers can be asked about at once.
	MostContainers = 100

	mostHeaderBytes = 16 << 10 // the ids are in the path
	mostQuestions   = 4        // that are answered at the same time; others wait
	answerWithin    = 10 * time.Second
	closeWithin     = 2 * time.Second
)

// A container's id as every engine that Loadstone drives makes it. Nothing shorter, nothing else: it becomes a part of
// a search in the kernel's folders.
var wholeID = regexp.MustCompile("^" + containerID.String() + "$")

// Serve answers until ctx ends. Recordings that nobody has fetched are lost then.
func Serve(ctx context.Context, listener net.Listener, host *Host) error {
	recorder := NewRecorder(host)
	defer recorder.Close()
	server := &http.Server{
		Handler:        Handler(host, recorder),
		ReadTimeout:    answerWithin,
		WriteTimeout:   2 * answerWithin,
		IdleTimeout:    time.Minute,
		MaxHeaderBytes: mostHeaderBytes,
	}
	ended := context.AfterFunc(ctx, func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
		defer cancel()
		if server.Shutdown(closing) != nil {
			_ = server.Close()
		}
	})
	defer ended()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler answers the paths of an agent:
//
//	GET  /healthz             {"alive": true}
//	GET  /containers/ID,ID    {"ID": Container, ...}
//	POST /peaks/ID,ID         {"ID": true, ...}: whether its memory's peak begins anew
//	POST /recordings          Wanted; begins to record, {"id": "..."}
//	POST /recordings/ID/end   the recording as Parquet
//	DELETE /recordings/ID     throws it away
//	GET  /metrics             the node now, and replicas that are being recorded, as Prometheus reads it
//
// Bad ids are answered with 400, and what takes too long with 503.
func Handler(host *Host, recorder *Recorder) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, map[string]bool{"alive": true})
	})
	turns := make(chan struct{}, mostQuestions)
	mux.HandleFunc("GET /containers/{ids}", asked(turns, host.Containers))
	mux.HandleFunc("POST /peaks/{ids}", asked(turns, host.NewPeaks))
	recorder.handle(mux)
	return mux
}

// asked answers a question about the containers in the path, when it is its turn.
func asked[T any](turns chan struct{}, answer func(context.Context, []string) (map[string]T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ids, err := parse(r.PathValue("ids"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
		defer cancel()
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-ctx.Done():
			http.Error(w, "too many questions at once; ask again", http.StatusServiceUnavailable)
			return
		}
		found, err := answer(ctx, ids)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		write(w, found)
	}
}

func parse(list string) ([]string, error) {
	ids := strings.Split(list, ",")
	if len(ids) > MostContainers {
		return nil, fmt.Errorf("%d containers at once; ask about at most %d", len(ids), MostContainers)
	}
	for _, id := range ids {
		if err := checkID(id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func checkID(id string) error {
	if !wholeID.MatchString(id) && !allocationID.MatchString(id) {
		return fmt.Errorf("%.80q is no container's id: give all of its 64 hexadecimal digits, or Nomad's allocation", id)
	}
	return nil
}

func write(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // fails only if the asker went away
}
