package spans

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Budget bounds what is held in memory.
type Budget struct {
	PieceSpans int   // in a piece
	Pieces     int   // that are filled or written at a time: what the disk may be behind
	Waiting    int64 // bytes of requests that wait for their turn
	Forward    int64 // bytes of requests that wait to be sent on
}

// DefaultBudget keeps the whole process under 200 MB.
var DefaultBudget = Budget{PieceSpans: 1 << 16, Pieces: 12, Waiting: 8 << 20, Forward: 16 << 20}

// writtenWithin is how long a span may be in memory only.
const writtenWithin = time.Second

// trial collects the spans of one trial. Its lock is the recorder's.
type trial struct {
	lock   *sync.Mutex
	file   string
	budget Budget
	names  *names
	counts Counts
	since  int64 // ns, unix: what ended before is outside
	sent   int64 // by the forwarder before it began
	unsent int64

	active  []span
	idle    [][]span
	made    int
	alone   bool // whether a batch that is a piece of its own waits to be written
	full    chan []span
	pieces  *pieces
	failed  error // set once writing failed: nothing is taken any more
	written chan struct{}
}

func beginTrial(file string, budget Budget, lock *sync.Mutex) (*trial, error) {
	pieces, err := createPieces(file + PiecesSuffix)
	if err != nil {
		return nil, fmt.Errorf("cannot write there: %w", err)
	}
	t := &trial{
		lock: lock, file: file, budget: budget, names: newNames(), pieces: pieces,
		counts: Counts{Recording: true, Replicas: map[string]Replica{}},
		full:   make(chan []span, budget.Pieces+1), written: make(chan struct{}),
	}
	go t.write()
	return t, nil
}

// take adds all of the spans, or none if there is no room.
func (t *trial) take(batch []span) bool {
	if len(batch) > t.budget.Pieces*t.budget.PieceSpans {
		return t.takeAlone(batch)
	}
	room := cap(t.active) - len(t.active) + (len(t.idle)+t.budget.Pieces-t.made)*t.budget.PieceSpans
	if t.failed != nil || len(batch) > room {
		return false
	}
	for len(batch) > 0 {
		if len(t.active) == cap(t.active) {
			t.seal()
		}
		n := min(len(batch), cap(t.active)-len(t.active))
		t.active = append(t.active, batch[:n]...)
		batch = batch[n:]
	}
	return true
}

// takeAlone makes a batch that no number of free pieces can hold a piece of its own, one such at a time.
func (t *trial) takeAlone(batch []span) bool {
	if t.failed != nil || t.alone {
		return false
	}
	t.alone = true
	t.full <- slices.Clone(batch) // there is room for one more than the pieces
	return true
}

// seal gives the active piece to be written and makes another one active, where there is one.
func (t *trial) seal() {
	if len(t.active) > 0 {
		t.full <- t.active // there is room for all that exist
	}
	t.active = nil
	switch {
	case len(t.idle) > 0:
		t.active, t.idle = t.idle[len(t.idle)-1], t.idle[:len(t.idle)-1]
	case t.made < t.budget.Pieces:
		t.active = make([]span, 0, t.budget.PieceSpans)
		t.made++
	}
}

// write sorts and writes pieces until there are no more, and what there is of one every second.
func (t *trial) write() {
	defer close(t.written)
	late := time.NewTicker(writtenWithin)
	defer late.Stop()
	for {
		select {
		case piece, more := <-t.full:
			if !more {
				return
			}
			t.writePiece(piece)
		case <-late.C:
			t.lock.Lock()
			if len(t.active) > 0 && len(t.full) == 0 {
				t.seal()
			}
			t.lock.Unlock()
		}
	}
}

func (t *trial) writePiece(piece []span) {
	slices.SortFunc(piece, func(a, b span) int { return compare(&a, &b) })
	t.lock.Lock()
	counts, all, failed := t.counts, t.names.text, t.failed
	counts.Written += int64(len(piece))
	counts.Replicas = maps.Clone(counts.Replicas)
	t.lock.Unlock()
	if failed == nil {
		failed = t.pieces.add(piece, all, counts)
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.failed = failed; failed == nil {
		t.counts.Written += int64(len(piece))
	}
	if len(piece) > t.budget.Pieces*t.budget.PieceSpans {
		t.alone = false
	} else {
		t.idle = append(t.idle, piece[:0])
	}
}

// end closes the trial to further spans and makes its file. The trial is the caller's alone by now.
func (t *trial) end() (Counts, error) {
	t.lock.Lock()
	if len(t.active) > 0 {
		t.full <- t.active
	}
	t.lock.Unlock()
	close(t.full)
	<-t.written
	t.idle, t.active = nil, nil // the merge needs the memory
	t.counts.Recording = false
	if t.failed != nil {
		return t.counts, fmt.Errorf("cannot write %s: %w; %d spans are in it: make room, end stone spans, then stone spans --recover %s",
			t.file+PiecesSuffix, t.failed, t.counts.Written, filepath.Dir(t.file))
	}
	counts, err := finish(t.file, t.pieces.all, t.names, t.counts)
	if err != nil {
		return counts, errors.Join(err, t.pieces.file.Close())
	}
	return counts, errors.Join(os.Remove(t.file+PiecesSuffix), t.pieces.file.Close())
}
