package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

const (
	// Protocol is the version that hello names. It changes when a client of the version before would fail.
	Protocol = 1

	mostRequests     = 256      // that run at the same time
	mostBytesWaiting = 64 << 20 // most bytes of payloads that requests still hold
	closeWithin      = 30 * time.Second
)

// request is the line of a client's frame.
type request struct {
	ID    int64           `json:"id"`
	Verb  string          `json:"verb"`
	Args  json.RawMessage `json:"args"`
	Bytes int             `json:"bytes"`
}

// reply is the line of a node's frame: an event, or the end of a request.
type reply struct {
	ID    *int64 `json:"id,omitempty"`
	Event any    `json:"event,omitempty"`
	OK    any    `json:"ok,omitempty"`
	Error *Fault `json:"error,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
}

// call is a request that runs.
type call struct {
	id      int64
	args    json.RawMessage
	payload []byte
	channel *channel
}

// event tells the client something before the request ends. It blocks while the client does not read.
func (c *call) event(value any, payload []byte) error {
	return c.channel.out.Write(reply{ID: &c.id, Event: value, Bytes: len(payload)}, payload)
}

// answer is how a request ends well: a value, and bytes.
type answer struct {
	value   any
	payload []byte
}

// handler runs a request.
type handler func(context.Context, *call) (answer, error)

// channel is one connection: requests come in, events and answers go out. It knows nothing of what verbs do.
type channel struct {
	in    *Reader
	out   *Writer
	verbs map[string]handler

	mu      sync.Mutex
	running map[int64]context.CancelFunc
	waiting int // bytes of payloads
	done    sync.WaitGroup
}

func newChannel(in io.Reader, out io.Writer, verbs map[string]handler) *channel {
	return &channel{in: NewReader(in), out: &Writer{out: out}, verbs: verbs, running: map[int64]context.CancelFunc{}}
}

// serve runs requests until the input ends, the output breaks or ctx ends; then it cancels what runs, and waits for it.
// A client that does not keep to the protocol is answered with an error that has no id.
func (c *channel) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	c.out.then = cancel
	ended := make(chan error, 1)
	go func() {
		for {
			frame, err := c.in.Next()
			if err == nil {
				err = c.accept(ctx, frame)
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	cancel()
	c.wait()
	if errors.Is(err, errFrame) {
		fault := faultf(Input, "%s", err).with("use a client of the same version")
		return errors.Join(err, c.out.Write(reply{Error: fault}, nil))
	}
	return nil
}

// accept starts a request. An error is the client's, and ends the channel.
func (c *channel) accept(ctx context.Context, frame Frame) error {
	wanted := request{}
	if err := decode(frame.Line, &wanted); err != nil {
		return c.end(frame.ID, answer{}, faultf(Input, "%s", err))
	}
	if wanted.Verb == "cancel" {
		return c.cancel(frame.ID, wanted.Args)
	}
	handle, known := c.verbs[wanted.Verb]
	if !known {
		return c.end(frame.ID, answer{}, faultf(Input, "no verb %.80q", wanted.Verb).with("use a client of the same version"))
	}
	ctx, stop := context.WithCancel(ctx)
	c.mu.Lock()
	_, twice := c.running[frame.ID]
	full := len(c.running) >= mostRequests || c.waiting+len(frame.Payload) > mostBytesWaiting
	if !twice && !full {
		c.running[frame.ID] = stop
		c.waiting += len(frame.Payload)
		c.done.Add(1)
	}
	c.mu.Unlock()
	switch {
	case twice:
		stop()
		return errors.Join(errFrame, faultf(Input, "request %d came again while it runs", frame.ID))
	case full:
		stop()
		return c.end(frame.ID, answer{}, faultf(Failed, "too many requests at once").with("wait for answers first"))
	}
	go func() {
		defer c.done.Done()
		answer, err := handle(ctx, &call{frame.ID, wanted.Args, frame.Payload, c})
		if err != nil && ctx.Err() != nil && !errors.As(err, new(*Fault)) {
			err = context.Canceled
		}
		stop()
		c.mu.Lock()
		delete(c.running, frame.ID)
		c.waiting -= len(frame.Payload)
		c.mu.Unlock()
		_ = c.end(frame.ID, answer, err) // a broken output ends the channel
	}()
	return nil
}

// cancel ends another request, which answers for itself. One that has ended already is no mistake: the answers crossed.
func (c *channel) cancel(id int64, args json.RawMessage) error {
	which := struct {
		ID int64 `json:"id"`
	}{}
	if err := decode(args, &which); err != nil {
		return c.end(id, answer{}, faultf(Input, "%s", err))
	}
	c.mu.Lock()
	stop := c.running[which.ID]
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
	return c.end(id, answer{value: struct{}{}}, nil)
}

// end answers a request. Its error is that of the output.
func (c *channel) end(id int64, answer answer, err error) error {
	if err == nil {
		err = c.out.Write(reply{ID: &id, OK: answer.value, Bytes: len(answer.payload)}, answer.payload)
		if !errors.Is(err, errTooLong) {
			return err
		}
	}
	return c.out.Write(reply{ID: &id, Error: asFault(err)}, nil)
}

// wait for the requests that were canceled. One that the kernel holds longer is left behind.
func (c *channel) wait() {
	all := make(chan struct{})
	go func() { c.done.Wait(); close(all) }()
	select {
	case <-all:
	case <-time.After(closeWithin):
	}
}

// decode reads one JSON value; unknown keys are errors.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}
