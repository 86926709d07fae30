package workers

import (
	"sync"
	"time"
)

// outbox sends what may be late or lost, so that a slow coordinator never holds up the load, and says every few
// seconds that the worker is there.
type outbox struct {
	posted chan message
	ended  chan struct{}
	once   sync.Once
}

func newOutbox(l *link) *outbox {
	o := &outbox{posted: make(chan message, 16), ended: make(chan struct{})}
	go o.run(l)
	return o
}

func (o *outbox) run(l *link) {
	defer close(o.ended)
	tick := time.NewTicker(aliveEvery)
	defer tick.Stop()
	for {
		m, open := message{Kind: alive}, true
		select {
		case m, open = <-o.posted:
		case <-tick.C:
		}
		if !open {
			return
		}
		_ = l.send(m) // a connection that is lost is noticed by who reads from it
	}
}

// post sends a message some time, or drops it.
func (o *outbox) post(m message) {
	select {
	case o.posted <- m:
	default:
	}
}

// close waits until all is sent. Nothing may be posted after it.
func (o *outbox) close() {
	o.once.Do(func() { close(o.posted) })
	<-o.ended
}
