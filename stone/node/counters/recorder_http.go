package counters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const (
	mostWantedBytes = 1 << 20
	fileWithin      = 5 * time.Minute // over a slow network
	parquetType     = "application/vnd.apache.parquet"
)

func (r *Recorder) handle(mux *http.ServeMux) {
	mux.HandleFunc("POST /recordings", r.beginRecording)
	mux.HandleFunc("POST /recordings/{id}/end", r.endRecording)
	mux.HandleFunc("DELETE /recordings/{id}", r.dropRecording)
	mux.Handle("GET /metrics", r.metrics())
}

func (r *Recorder) beginRecording(w http.ResponseWriter, request *http.Request) {
	wanted := Wanted{}
	decoder := json.NewDecoder(http.MaxBytesReader(w, request.Body, mostWantedBytes))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&wanted)
	if err == nil {
		err = wanted.Problem()
	}
	if err != nil {
		http.Error(w, "cannot begin to record: "+err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(request.Context(), answerWithin)
	defer cancel()
	id, err := r.Begin(ctx, wanted)
	switch {
	case errors.Is(err, errTooMany):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		write(w, map[string]string{"id": id})
	}
}

// endRecording forgets a recording only once its file was sent whole.
func (r *Recorder) endRecording(w http.ResponseWriter, request *http.Request) {
	id := request.PathValue("id")
	file, found, err := r.End(id)
	switch {
	case !found:
		noRecording(w, id)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(fileWithin)) // where there are deadlines
	w.Header().Set("Content-Type", parquetType)
	w.Header().Set("Content-Length", strconv.Itoa(file.length))
	if _, err := file.WriteTo(w); err == nil {
		r.Drop(id)
	}
}

func (r *Recorder) dropRecording(w http.ResponseWriter, request *http.Request) {
	id := request.PathValue("id")
	if !r.Drop(id) {
		noRecording(w, id)
		return
	}
	write(w, map[string]bool{"dropped": true})
}

func noRecording(w http.ResponseWriter, id string) {
	text := fmt.Sprintf("no recording %.80q: it was fetched or thrown away, or began more than %v ago", id, recordingKept)
	http.Error(w, text, http.StatusNotFound)
}
