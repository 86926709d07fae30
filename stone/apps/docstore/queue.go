package docstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/web"
	"loadstone.dev/stone/zmtp"
)

const (
	largestMessage  = 1 << 20
	largestDocument = 8_000_000 // as CouchDB stores them by default
	readTimeout     = 30 * time.Second
	documentRoute   = "/" + Database + "/{id}"
)

// request is the one frame of a message, as JSON. It carries W3C Trace Context, which has no other place in a message.
type request struct {
	Op          string `json:"op"`
	ID          string `json:"id"`
	Traceparent string `json:"traceparent"`
	Tracestate  string `json:"tracestate"`
}

// reply is a document, or why there is none: by the error that CouchDB gives, or one of these.
type reply struct {
	Document json.RawMessage `json:"document,omitempty"`
	Error    string          `json:"error,omitempty"`
	Reason   string          `json:"reason,omitempty"`
}

const (
	badRequest  = "bad_request"
	tooLarge    = "message_too_large"
	unavailable = "store_unavailable"
)

type queue struct {
	store    *web.Backend
	host     *service.Host
	bad      *atomic.Int64
	unserved *atomic.Int64
}

func startQueue(_ context.Context, host *service.Host) error {
	store, err := host.DialHTTP("couchdb")
	if err != nil {
		return err
	}
	q := &queue{store, host, host.Counter("bad requests"), host.Counter("failed reads")}
	host.Health.Need("database", q.exists)
	host.HandleMessages(host.Config.Tasks.Socket, largestMessage, q.handle)
	return nil
}

// exists is a condition of readiness: that the database has been made.
func (q *queue) exists(ctx context.Context) error {
	status, body, err := q.get(ctx, "/"+Database, "/"+Database)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("couchdb: database %s: status %d: %s", Database, status, strings.TrimSpace(string(body)))
	}
	return err
}

// handle makes the reply to one message.
func (q *queue) handle(ctx context.Context, message zmtp.Message, err error) zmtp.Message {
	var given request
	answer := reply{}
	switch {
	case errors.Is(err, zmtp.TooLarge):
		answer = reply{Error: tooLarge, Reason: fmt.Sprintf("at most %d bytes", largestMessage)}
	case len(message) != 1:
		answer = reply{Error: badRequest, Reason: fmt.Sprintf("%d frames; want one", len(message))}
	case json.Unmarshal(message[0], &given) != nil:
		answer = reply{Error: badRequest, Reason: `not JSON such as {"op":"get","id":"..."}`}
	case given.Op != "get":
		answer = reply{Error: badRequest, Reason: fmt.Sprintf("no operation %.40q; want get", given.Op)}
	case given.ID == "" || given.ID[0] == '_':
		answer = reply{Error: badRequest, Reason: "no id of a document"}
	default:
		return q.read(ctx, given)
	}
	q.bad.Add(1)
	return answer.message()
}

// read is one request within its span.
func (q *queue) read(ctx context.Context, given request) zmtp.Message {
	ctx, end := q.host.TraceMessage(ctx, given.Traceparent, given.Tracestate, "get")
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	status, body, err := q.get(ctx, "/"+Database+"/"+url.PathEscape(given.ID), documentRoute)
	var answer reply
	switch {
	case err == nil && status == http.StatusOK && json.Valid(body):
		answer.Document = body
	case err == nil && json.Unmarshal(body, &answer) == nil && answer.Error != "" && status < http.StatusInternalServerError:
		answer.Document = nil
	default:
		if err == nil {
			err = fmt.Errorf("status %d: %.200s", status, body)
		}
		q.unserved.Add(1)
		answer = reply{Error: unavailable, Reason: err.Error()}
	}
	end(err)
	return answer.message()
}

func (q *queue) get(ctx context.Context, path, pattern string) (int, []byte, error) {
	to, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://service"+path, nil)
	if err != nil {
		return 0, nil, err
	}
	to.Pattern = pattern
	response, err := q.store.RoundTrip(to)
	if err != nil {
		return 0, nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, largestDocument+1<<10))
	if closing := response.Body.Close(); err == nil {
		err = closing
	}
	return response.StatusCode, body, err
}

func (r reply) message() zmtp.Message {
	text, err := json.Marshal(r)
	if err != nil { // impossible: what it holds has been parsed
		panic(err)
	}
	return zmtp.Message{text}
}
