package tracing

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"loadstone.dev/stone/platform/logging"
)

const (
	batch       = 512  // spans sent at once, about 100 kB
	mostQueued  = 8192 // spans that wait; 8 MB
	stopTimeout = 1500 * time.Millisecond
)

// counts are those of sampled spans for one collector since the service started.
type counts struct {
	produced count // ended
	dropped  count // given up: there was no room, or no collector that took them
}

// count is one collector's, and a part of the service's.
type count struct {
	own atomic.Int64
	all *atomic.Int64
}

func (c *count) add(spans int64) {
	c.own.Add(spans)
	c.all.Add(spans)
}

// sender queues the spans that end and sends them to one collector, from a goroutine of its own.
type sender struct {
	uploader *uploader
	log      *logging.Limited
	counts   *counts
	capacity int
	interval time.Duration

	mutex sync.Mutex
	queue []span

	full     chan struct{} // a batch is whole
	stopping chan struct{}
	stopped  chan struct{}
	context  context.Context
	cancel   context.CancelFunc
	logged   int64 // dropped spans that were logged
}

func newSender(uploader *uploader, log *slog.Logger, counts *counts, capacity int, interval time.Duration, stopping chan struct{}) *sender {
	ctx, cancel := context.WithCancel(context.Background())
	s := &sender{
		uploader: uploader, log: logging.NewLimited(log), counts: counts, capacity: capacity, interval: interval,
		full: make(chan struct{}, 1), stopping: stopping, stopped: make(chan struct{}), context: ctx, cancel: cancel,
	}
	go s.run()
	return s
}

// add queues a span that has ended, or counts it as dropped. It never waits for the collector.
func (s *sender) add(ended *span) {
	s.counts.produced.add(1)
	s.mutex.Lock()
	waiting := len(s.queue) + 1
	if waiting <= s.capacity {
		s.queue = append(s.queue, *ended)
	}
	s.mutex.Unlock()
	switch {
	case waiting > s.capacity:
		s.counts.dropped.add(1)
	case waiting == batch:
		select {
		case s.full <- struct{}{}:
		default:
		}
	}
}

// stop sends what is queued, as far as possible in stopTimeout.
func (s *sender) stop() {
	close(s.stopping)
	defer time.AfterFunc(stopTimeout, s.cancel).Stop()
	<-s.stopped
	s.cancel()
}

func (s *sender) run() {
	defer close(s.stopped)
	tick := time.NewTicker(s.interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.full:
		case <-s.stopping:
			s.flush()
			return
		}
		s.flush()
	}
}

func (s *sender) flush() {
	var problem error
	for spans := range slices.Chunk(s.take(), batch) {
		if err := s.uploader.send(s.context, spans); err != nil {
			s.counts.dropped.add(int64(len(spans)))
			problem = err
		}
	}
	if dropped := s.counts.dropped.own.Load(); dropped > s.logged {
		reason := "they end faster than they can be sent"
		if problem != nil {
			reason = problem.Error()
		}
		s.log.Warn("spans dropped", "reason", reason, "dropped", dropped, "of", s.counts.produced.own.Load())
		s.logged = dropped
	}
}

func (s *sender) take() []span {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	taken := s.queue
	s.queue = make([]span, 0, min(len(taken), batch))
	return taken
}
