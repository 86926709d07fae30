package shop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"loadstone.dev/stone/platform/tasks"
	"loadstone.dev/stone/platform/web"
)

// endpoint answers one route with a value for JSON.
type endpoint func(r *http.Request) (any, error)

// largestSkipped is how much of a body is read, so that a client that sends too much has sent it all and reads the refusal.
const largestSkipped = 64 << 20

// handlerTimeout ends what a handler waits for, a store that does not answer for one, while its caller still listens.
const handlerTimeout = web.CallTimeout - time.Second

// serve answers a route. No request has a body of use; one that is too large is refused before anything is done.
func serve(site web.Site, answer endpoint) http.HandlerFunc {
	return site.Handle(func(w http.ResponseWriter, r *http.Request) error {
		if length, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, largestSkipped)); err != nil {
			return err
		} else if length > web.LargestBody {
			return &http.MaxBytesError{Limit: web.LargestBody}
		}
		ctx, cancel := context.WithTimeout(r.Context(), handlerTimeout)
		defer cancel()
		body, err := answer(r.WithContext(ctx))
		if err != nil {
			return err
		}
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(encoded) // fails only if the asker went away
		return nil
	})
}

func newSite(log *slog.Logger) web.Site {
	return web.NewSite(log, func(err error) *web.Problem {
		if errors.Is(err, tasks.ErrFull) {
			return web.Problemf(http.StatusInsufficientStorage, "%v", err)
		}
		return nil
	})
}

// number is a part of the path: from 0 to 2^63-1.
func number(r *http.Request, name string) (int64, error) {
	return web.Params{{Name: name, Value: r.PathValue(name)}}.ID(name)
}

// largestAnswer of a service is far more than any says.
const largestAnswer = 64 << 10

// call sends one request to a service and reads its answer. A refusal is passed on with the same status and text.
func call(ctx context.Context, backend *web.Backend, method, route, query string, values ...int64) error {
	path := route
	for _, value := range values {
		from, to := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		path = path[:from] + strconv.FormatInt(value, 10) + path[to+1:]
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://service"+path+query, nil)
	if err != nil {
		return err
	}
	request.Pattern = route
	response, err := backend.RoundTrip(request)
	if err != nil {
		return web.Problemf(http.StatusBadGateway, "%v", err)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, largestAnswer))
	if closing := response.Body.Close(); err == nil {
		err = closing
	}
	text := strings.TrimSpace(string(body))
	switch {
	case err != nil:
		return web.Problemf(http.StatusBadGateway, "%s: %v", path, err)
	case response.StatusCode < http.StatusMultipleChoices:
		return nil
	case response.StatusCode < http.StatusInternalServerError:
		return &web.Problem{Status: response.StatusCode, Text: text}
	}
	return fmt.Errorf("%s: status %d: %s", path, response.StatusCode, text)
}
