package seed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"loadstone.dev/stone/platform/seeding"
)

const (
	administrator = "admin" // as software.yaml names it
	slowest       = time.Minute
	largestAnswer = 64 << 20
)

// store is a CouchDB.
type store struct {
	address, password string
	progress          *seeding.Progress
}

// client uses no web proxy: none leads to a node.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}, Timeout: slowest}

// send sends one request with a body as JSON, and reads the answer, which must have one of the statuses.
func (s store) send(ctx context.Context, method, path string, body, into any, statuses ...int) error {
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.address+path, text)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if s.password != "" {
		request.SetBasicAuth(administrator, s.password)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, largestAnswer))
	switch {
	case err != nil:
		return err
	case response.StatusCode == http.StatusNotFound && !slices.Contains(statuses, response.StatusCode):
		return fmt.Errorf("%s %s: %w", method, path, errAbsent)
	case !slices.Contains(statuses, response.StatusCode):
		return fmt.Errorf("%s %s: status %d: %.300s", method, path, response.StatusCode, answer)
	case into == nil:
		return nil
	}
	return json.Unmarshal(answer, into)
}
