package node

import (
	"context"
	"sync"
	"time"

	"loadstone.dev/stone/node/counters"
)

const partEvery = 5 * time.Second

// Watching is the event with which a watch begins.
type Watching struct {
	ID      int64             `json:"id"`       // for unwatch
	BegunNS int64             `json:"begun_ns"` // ns since 1970, by this machine's clock
	Absent  map[string]string `json:"absent"`   // why there is nothing, by family
}

// Part is an event whose payload belongs to a Parquet file. A watch sends several files, each whole when Last comes.
type Part struct {
	Last bool `json:"last"`
}

// watches are those that run, by the ids of their requests.
type watches struct {
	mu      sync.Mutex
	running map[int64]chan struct{} // closed by unwatch
}

// watch records counters of this machine and of replicas until it is unwatched. What it has read it sends every few
// seconds, so that little is lost with the machine.
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
	defer recording.End()
	if err := c.event(Watching{c.id, begun, absent}, nil); err != nil {
		return answer{}, err
	}
	ticks := time.NewTicker(partEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return answer{}, ctx.Err()
		case <-enough:
			summary := recording.End()
			return answer{value: summary}, sendTaken(c, recording)
		case <-ticks.C:
			if err := sendTaken(c, recording); err != nil {
				return answer{}, err
			}
		}
	}
}

// sendTaken sends what was recorded since the last time.
func sendTaken(c *call, recording *counters.Recording) error {
	file, err := recording.Take()
	for err == nil && len(file) > 0 {
		count := min(len(file), pieceBytes)
		err = c.event(Part{Last: count == len(file)}, file[:count])
		file = file[count:]
	}
	return err
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
