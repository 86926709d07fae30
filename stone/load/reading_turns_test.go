package load

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stepped is a load thread whose steps a test takes one by one, so that nothing depends on what comes first.
type stepped struct {
	*loadThread
	t *testing.T
}

// step makes the connections of a plan with one operation; nothing is sent yet.
func step(t *testing.T, plan *Plan) stepped {
	t.Helper()
	r, err := newRun(plan)
	if err == nil {
		err = r.reached.reach(plan.lookup, plan.host, time.Minute)
	}
	if err != nil {
		t.Fatal(err)
	}
	thread, err := newLoadThread(r, 0)
	if err == nil {
		t.Cleanup(thread.pool.close)
		err = thread.connect(time.Now().Add(time.Minute))
	}
	if err != nil {
		t.Fatal(err)
	}
	thread.clock = clock{time.Now()}
	thread.wall = thread.clock.wall()
	return stepped{thread, t}
}

// send starts a request on the connection that is due; nil if none is free.
func (s stepped) send() *connection {
	s.t.Helper()
	now := s.clock.now()
	c := s.pool.take(now)
	if c == nil {
		s.t.Fatal("no connection is free")
	}
	made := &rendered{at: now, measured: true}
	if err := s.source.make(made); err != nil {
		s.t.Fatal(err)
	}
	s.start(c, made, now)
	return c
}

// settle handles what comes until nothing is under way.
func (s stepped) settle() {
	s.t.Helper()
	for begun := time.Now(); s.inFlight.count > 0; {
		if time.Since(begun) > time.Minute {
			s.t.Fatal("no outcome")
		}
		for _, event := range s.pool.poller.wait(1e9) {
			if c := s.pool.event(event); c != nil {
				s.handle(c, event.Events)
			}
		}
	}
}

// await waits until a socket is as it is to be: something has arrived that is not handled yet.
func (s stepped) await(c *connection, events int16) {
	s.t.Helper()
	look := []unix.PollFd{{Fd: int32(c.fd), Events: events}}
	for begun := time.Now(); look[0].Revents&events != events; {
		if _, err := unix.Poll(look, 1000); err != nil && err != unix.EINTR || time.Since(begun) > time.Minute {
			s.t.Fatalf("%v: %x", err, look[0].Revents)
		}
	}
}

// outcomes are how many requests were answered well, and the kinds of the others' failures.
func (s stepped) outcomes() (good int64, kinds map[string]int64) {
	kinds = map[string]int64{}
	for _, k := range s.recorder.tallies {
		good += k.completed
	}
	for f, count := range s.recorder.failures {
		kinds[f.cause.Error()] += count.count
	}
	return good, kinds
}
