package export

import (
	"errors"
	"sync"
	"testing"
)

// Several threads' records all arrive, each thread's in its order.
func TestStream(t *testing.T) {
	const threads, each = 3, 2*batchRows + 100
	requests, path := open(t)
	stream := NewStream(requests, threads)
	var group sync.WaitGroup
	for thread := range threads {
		sink := stream.Sink()
		group.Go(func() {
			for n := range each {
				sink.Add(Request{N: uint64(n), Operation: "home", Thread: int32(thread), Outcome: "completed"})
			}
			sink.Close()
		})
	}
	group.Wait()
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	read, _ := readRequests(t, path)
	next := make([]uint64, threads)
	for _, r := range read {
		if r.N != next[r.Thread] {
			t.Fatalf("thread %d: record %d after %d", r.Thread, r.N, next[r.Thread])
		}
		next[r.Thread]++
	}
	if len(read) != threads*each || stream.Lost() != 0 {
		t.Errorf("%d of %d records, %d lost", len(read), threads*each, stream.Lost())
	}
}

// stalled is a log that takes nothing until it is released, and then may fail.
type stalled struct {
	release           chan struct{}
	fails             error
	rows              int
	closed, discarded bool
}

func (s *stalled) Write(batch []Request) error {
	<-s.release
	s.rows += len(batch)
	return s.fails
}
func (s *stalled) Close() error { s.closed = true; return nil }
func (s *stalled) Discard()     { s.discarded = true }

// A thread goes on while the writer stands still; what it could not hand over is counted. If it waited, this test
// would never end.
func TestStreamDropsRatherThanWaits(t *testing.T) {
	log := &stalled{release: make(chan struct{})}
	stream := newStream(log, 1)
	sink := stream.Sink()
	const added = (mostBatches+10)*batchRows + 7
	for range added {
		sink.Add(Request{})
	}
	if stream.Lost() != 10*batchRows {
		t.Errorf("%d records lost", stream.Lost())
	}
	close(log.release)
	sink.Close()
	if err := stream.Close(); err != nil || !log.closed || log.discarded {
		t.Errorf("%v, %+v", err, log)
	}
	if int64(log.rows)+stream.Lost() != added {
		t.Errorf("%d written and %d lost of %d", log.rows, stream.Lost(), added)
	}
}

// After an error, no thread hangs, nothing passes for written, and the error comes out at the end.
func TestStreamWhoseLogFails(t *testing.T) {
	log := &stalled{release: make(chan struct{}), fails: errors.New("disk full")}
	close(log.release)
	stream := newStream(log, 1)
	sink := stream.Sink()
	const added = 100*batchRows + 5
	for range added {
		sink.Add(Request{})
	}
	sink.Close()
	if err := stream.Close(); !errors.Is(err, log.fails) || !log.discarded || log.closed {
		t.Errorf("%v, %+v", err, log)
	}
	if stream.Lost() != added || log.rows > batchRows {
		t.Errorf("%d of %d lost, %d written", stream.Lost(), added, log.rows)
	}
}

func TestStreamDiscarded(t *testing.T) {
	requests, path := open(t)
	stream := NewStream(requests, 1)
	sink := stream.Sink()
	sink.Add(Request{})
	sink.Close()
	stream.Discard()
	if exists(path) || exists(path+".part") {
		t.Error("there is still a file")
	}
}
