package workers

import "time"

// exchange is one ping and its pong: when it was sent by our clock, how long the pong took, and their time in it.
type exchange struct {
	sent   int64 // ns since 1970
	delay  time.Duration
	theirs int64
}

// ahead estimates what their clock is ahead of ours (Cristian 1989): their time was read somewhere between the ping
// and the pong's arrival, so it is taken to be half-way, and cannot be off by more than half the delay. The shortest
// delay binds best.
func ahead(exchanges []exchange) (offset, bound time.Duration) {
	best := exchanges[0]
	for _, e := range exchanges[1:] {
		if e.delay < best.delay {
			best = e
		}
	}
	bound = (best.delay + 1) / 2
	return time.Duration(best.theirs - best.sent - int64(best.delay/2)), bound
}

const pings = 20

// measure compares a worker's clock with ours.
func measure(l *link) (offset, bound time.Duration, err error) {
	exchanges := make([]exchange, pings)
	for i := range exchanges {
		sent := time.Now()
		if err := l.send(message{Kind: ping}); err != nil {
			return 0, 0, err
		}
		answer, err := l.expect(pong, silence)
		if err != nil {
			return 0, 0, err
		}
		exchanges[i] = exchange{sent.UnixNano(), time.Since(sent), answer.UnixNs}
	}
	offset, bound = ahead(exchanges)
	return offset, bound, nil
}
