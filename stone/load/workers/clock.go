package workers

import "time"

// exchange is one question for the time: when it was asked by our clock, how long the answer took, and the answer.
type exchange struct {
	asked  int64 // ns since 1970
	took   time.Duration
	theirs int64
}

// ahead estimates what their clock is ahead of ours (Cristian 1989): the answer was given somewhere between question
// and its arrival, so it is taken to be half-way, and cannot be off by more than half the time that took. The quickest
// answer binds best.
func ahead(exchanges []exchange) (offset, bound time.Duration) {
	best := exchanges[0]
	for _, e := range exchanges[1:] {
		if e.took < best.took {
			best = e
		}
	}
	bound = (best.took + 1) / 2
	return time.Duration(best.theirs - best.asked - int64(best.took/2)), bound
}

const questions = 20

// measure asks a worker for its time.
func measure(l *link) (offset, bound time.Duration, err error) {
	exchanges := make([]exchange, questions)
	for i := range exchanges {
		asked := time.Now()
		if err := l.send(message{Kind: ping}); err != nil {
			return 0, 0, err
		}
		answer, err := l.expect(pong, silence)
		if err != nil {
			return 0, 0, err
		}
		exchanges[i] = exchange{asked.UnixNano(), time.Since(asked), answer.UnixNs}
	}
	offset, bound = ahead(exchanges)
	return offset, bound, nil
}
