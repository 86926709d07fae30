package export

import "sync/atomic"

const (
	batchRows   = 1024
	mostBatches = 64 // on their way to the writer at a time: 6 MB
)

// requestLog is what a stream ends in: a *Requests.
type requestLog interface {
	Write(batch []Request) error
	Close() error
	Discard()
}

// Stream carries the records of many threads to one writer, in batches that are used again and again. A thread never
// waits for the writer: what comes while all batches are on their way is dropped and counted.
type Stream struct {
	log     requestLog
	free    chan []Request
	full    chan []Request
	lost    atomic.Int64
	written chan error
}

// NewStream starts the writer. At most `threads` sinks may be open at a time.
func NewStream(requests *Requests, threads int) *Stream { return newStream(requests, threads) }

func newStream(log requestLog, threads int) *Stream {
	s := &Stream{
		log: log, free: make(chan []Request, mostBatches), written: make(chan error, 1),
		full: make(chan []Request, mostBatches+threads), // never full: that is all the batches there are
	}
	for range mostBatches {
		s.free <- nil
	}
	go s.write()
	return s
}

// write writes until the stream is closed, and only throws away after an error.
func (s *Stream) write() {
	var failed error
	for batch := range s.full {
		if failed == nil {
			failed = s.log.Write(batch)
		}
		if failed != nil {
			s.lost.Add(int64(len(batch)))
		}
		select {
		case s.free <- batch[:0]:
		default: // the last batch of a thread, which needs no other
		}
	}
	s.written <- failed
}

// Lost is how many records were dropped so far since the writer was slow or had failed.
func (s *Stream) Lost() int64 { return s.lost.Load() }

// Close waits until all is written, and puts the file into place. Every sink must be closed before.
func (s *Stream) Close() error {
	close(s.full)
	if err := <-s.written; err != nil {
		s.log.Discard()
		return err
	}
	return s.log.Close()
}

// Discard gives the file up. Every sink must be closed before.
func (s *Stream) Discard() {
	close(s.full)
	<-s.written
	s.log.Discard()
}

// Sink is one thread's end of a stream. Only its thread may use it.
type Sink struct {
	stream *Stream
	batch  []Request
}

// Sink opens an end of the stream.
func (s *Stream) Sink() *Sink { return &Sink{stream: s, batch: make([]Request, 0, batchRows)} }

// Add takes one record. It does not wait.
func (k *Sink) Add(r Request) {
	if k.batch = append(k.batch, r); len(k.batch) < batchRows {
		return
	}
	select {
	case next := <-k.stream.free:
		k.stream.full <- k.batch
		if k.batch = next; next == nil { // the batches are made when they are needed for the first time
			k.batch = make([]Request, 0, batchRows)
		}
	default:
		k.stream.lost.Add(batchRows)
		k.batch = k.batch[:0]
	}
}

// Close hands over what is left.
func (k *Sink) Close() {
	k.stream.full <- k.batch
	k.batch = nil
}
