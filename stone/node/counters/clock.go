package counters

import (
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	"github.com/facebook/time/ntp/chrony"
)

const (
	chronyd       = "127.0.0.1:323" // where it answers queries of its state
	chronydWithin = 500 * time.Millisecond
	chronydEvery  = time.Second
	notInStep     = 3 // the leap status of a clock that follows no source
)

// clock is chronyd's state of this node's clock. It is queried in the background, at most once a second and only while
// it is read, so that a silent chronyd never delays a reading. All recordings share it.
type clock struct {
	address string
	within  time.Duration // how long its answer may take

	mu      sync.Mutex
	queried time.Time
	asking  bool
	known   bool
	offset  float64 // seconds that this clock is ahead of NTP's time
	bound   float64 // seconds that it is off at most
	problem error   // why the last answer was of no use
}

func (c *clock) read(r *reading) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asking && time.Since(c.queried) >= chronydEvery {
		c.queried, c.asking = time.Now(), true
		go c.ask()
	}
	switch {
	case c.problem != nil:
		return c.problem
	case c.known:
		r.put("node", "clock_offset_seconds", c.offset)
		r.put("node", "clock_error_seconds", c.bound)
	}
	return nil
}

func (c *clock) close() {}

func (c *clock) ask() {
	tracking, err := track(c.address, c.within)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking, c.problem, c.known = false, err, err == nil
	if err == nil {
		// chronyd's correction is what it still adds to the clock, so positive where the clock is behind.
		c.offset = -tracking.CurrentCorrection
		c.bound = math.Abs(c.offset) + tracking.RootDispersion + tracking.RootDelay/2 // chronyc(1), "tracking"
	}
}

func track(address string, within time.Duration) (chrony.Tracking, error) {
	connection, err := net.DialTimeout("udp", address, within)
	if err != nil {
		return chrony.Tracking{}, fmt.Errorf("no chronyd to ask: %w", err)
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(within)) // a socket has deadlines
	client := chrony.Client{Connection: connection}
	answer, err := client.Communicate(chrony.NewTrackingPacket())
	if broken := (*net.OpError)(nil); errors.As(err, &broken) {
		err = broken.Err // without the port that we had by chance
	}
	if err != nil {
		return chrony.Tracking{}, fmt.Errorf("chronyd at %s tells nothing: %w", address, err)
	}
	reply, is := answer.(*chrony.ReplyTracking)
	switch {
	case !is:
		return chrony.Tracking{}, fmt.Errorf("chronyd at %s answers a %T instead of its state", address, answer)
	case reply.LeapStatus == notInStep:
		return chrony.Tracking{}, errors.New("chronyd at " + address + " follows no source yet")
	}
	return reply.Tracking, nil
}
