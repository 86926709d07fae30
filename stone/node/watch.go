package node

import (
	"context"
	"io"
	"sync"
	"time"

	"loadstone.dev/stone/node/counters"
)

// Watching is the event with which a watch begins.
type Watching struct {
	BegunNS int64             `json:"begun_ns"` // ns since 1970, by this machine's clock
	Absent  map[string]string `json:"absent"`   // why there is nothing, by family
}

// Watched ends a watch. Its file was sent before, in pieces.
type Watched struct {
	counters.Recorded
	SHA256 string `json:"sha256"`
}

// watches are those that run, by the ids of their requests.
type watches struct {
	mu      sync.Mutex
	running map[int64]chan struct{} // closed by unwatch
}

// watch records counters of this machine and of replicas until it is unwatched; then it sends them as a Parquet file.
// Canceled, it sends nothing.
func (n *Node) watch(ctx context.Context, c *call, wanted counters.Wanted) (answer, error) {
	if err := wanted.Problem(); err != nil {
		return answer{}, faultf(Input, "%s", err)
	}
	host, err := n.reader()
	if err != nil {
		return answer{}, err
	}
	enough := n.watches.add(c.id)
	defer n.watches.forget(c.id)
	begun := time.Now().UnixNano()
	recording, absent, err := host.Record(ctx, wanted)
	if err != nil {
		return answer{}, err
	}
	if err := c.event(Watching{begun, absent}, nil); err != nil {
		recording.Drop()
		return answer{}, err
	}
	select {
	case <-ctx.Done():
		recording.Drop()
		return answer{}, ctx.Err()
	case <-enough:
	}
	recorded, err := recording.End()
	if err != nil {
		return answer{}, err
	}
	file, into := io.Pipe()
	defer file.Close() // ends who writes into it
	go func() {
		_, err := recorded.File.WriteTo(into)
		_ = into.CloseWithError(err)
	}()
	sent, err := sendAll(ctx, c, file)
	if err != nil {
		return answer{}, err
	}
	return answer{value: Watched{recorded, sent.SHA256}}, nil
}

type unwatchArgs struct {
	ID int64 `json:"id"`
}

// unwatch ends a watch of this channel, which then sends what it has recorded.
func (n *Node) unwatch(_ context.Context, _ *call, args unwatchArgs) (answer, error) {
	if !n.watches.end(args.ID) {
		return answer{}, faultf(Missing, "request %d is no watch that runs", args.ID)
	}
	return answer{value: struct{}{}}, nil
}

func (w *watches) add(id int64) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running == nil {
		w.running = map[int64]chan struct{}{}
	}
	w.running[id] = make(chan struct{})
	return w.running[id]
}

func (w *watches) end(id int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	running := w.running[id]
	if running != nil {
		close(running)
		delete(w.running, id)
	}
	return running != nil
}

func (w *watches) forget(id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, id)
}
