package tracing

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// The headers of W3C Trace Context as net/http writes them.
const headerParent, headerState = "Traceparent", "Tracestate"

// Handler serves what mux, a http.ServeMux, serves, each request within a span that is named after its route.
func (t *Tracing) Handler(mux http.Handler) http.Handler {
	if t == nil {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if apart(r.URL.Path) {
			mux.ServeHTTP(w, r)
			return
		}
		ctx, span := t.serve(r.Context(), r.Header.Get(headerParent), r.Header.Get(headerState), method(r.Method))
		r = r.WithContext(ctx)
		if span == nil {
			mux.ServeHTTP(w, r)
			return
		}
		answer := &answer{ResponseWriter: w, status: http.StatusInternalServerError} // if the handler panics
		defer func() {
			span.object = route(r.Pattern)
			failStatus(span, answer.status)
			span.end()
		}()
		mux.ServeHTTP(answer, r)
		if !answer.written {
			answer.status = http.StatusOK
		}
	})
}

// apart are requests that are not of users: readiness, the files that belong to every page, and those of tasks
// (platform/tasks), which are removed between runs.
func apart(path string) bool {
	switch path {
	case "/healthz", "/readyz", "/files", "/style.css", "/icon.svg", "/favicon.ico":
		return true
	}
	return false
}

// route is the path of a mux's pattern, "[METHOD ][HOST]/[PATH]", as far as it says which; the mux sets it on the request.
func route(pattern string) string {
	slash := strings.IndexByte(pattern, '/')
	if slash < 0 {
		return "*"
	}
	return strings.TrimSuffix(pattern[slash:], "{$}")
}

// method keeps what callers make up out of the names of spans.
func method(name string) string {
	switch name {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodOptions, http.MethodPatch:
		return name
	}
	return "HTTP"
}

func failStatus(span *span, status int) {
	if status >= http.StatusInternalServerError {
		span.fail(fmt.Errorf("status %d", status))
	}
}

// answer knows the status that was written first.
type answer struct {
	http.ResponseWriter
	status  int
	written bool
}

func (a *answer) WriteHeader(status int) {
	if !a.written && status >= http.StatusOK { // else it is not the last
		a.status, a.written = status, true
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(body []byte) (int, error) {
	if !a.written {
		a.status, a.written = http.StatusOK, true
	}
	return a.ResponseWriter.Write(body)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// RoundTripper sends what another sends, each request within a span that ends with the answer's last byte. The span is
// named after the request's Pattern, which keeps ids out of names, or its path where it has none. The requests must be
// their caller's own to change.
func (t *Tracing) RoundTripper(need string, next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return roundTripper{next, t.neighbour(need)}
}

type roundTripper struct {
	next http.RoundTripper
	need *neighbour
}

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	path := r.URL.Path
	if r.Pattern != "" {
		path = route(r.Pattern)
	}
	ctx, span := t.need.call(r.Context(), r.Method, path)
	parentHeader, stateHeader := headers(ctx)
	if parentHeader != "" {
		r.Header.Set(headerParent, parentHeader)
	}
	if stateHeader != "" {
		r.Header.Set(headerState, stateHeader)
	}
	response, err := t.next.RoundTrip(r)
	if err != nil || span == nil {
		span.endWith(err)
		return response, err
	}
	failStatus(span, response.StatusCode)
	response.Body = &body{ReadCloser: response.Body, span: span}
	return response, nil
}

// body may be closed more than once.
type body struct {
	io.ReadCloser
	span *span
	once sync.Once
}

func (b *body) Close() error {
	b.once.Do(b.span.end)
	return b.ReadCloser.Close()
}
