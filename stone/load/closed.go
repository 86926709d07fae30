package load

import (
	"math"

	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/result"
	"loadstone.dev/stone/load/schedule"
)

// Closed is a closed loop instead of arrivals: so many clients, each of which sends, waits for the answer, pauses, and
// sends again. Its latencies say nothing of what an open system's users would see. With a number of requests it ends when
// all of them have an outcome, and the window is what they took; without one, with the window.
type Closed struct {
	Clients        int     `json:"clients"`
	ThinkS         float64 `json:"think_s"`
	Pace           float64 `json:"pace"`            // the most requests/s of all clients together; 0: as they are answered
	Requests       int64   `json:"requests"`        // requests of each client in each iteration; 0: see total
	Iterations     int64   `json:"iterations"`      // iterations of each client, with requests; 0 is 1
	Total          int64   `json:"total"`           // requests of all clients together, instead of those of each; 0: no number
	WarmupRequests int64   `json:"warmup_requests"` // uncounted requests of all clients together, before those that count
}

const (
	mostIterations = 100_000           // for all clients together: each becomes a row
	mostCounted    = 1_000_000_000_000 // requests
)

// counted says whether the loop ends by a number of requests.
func (p *Plan) counted() bool {
	return p.Closed != nil && (p.Closed.Requests > 0 || p.Closed.Total > 0)
}

func (c *Closed) check(threads int, abort bool) error {
	clients := int64(c.Clients)
	switch {
	case c.Clients < threads || c.Clients > mostConnections:
		return mistake.New("closed.clients", "%d is out of range; give at least as many as threads (%d) and at most %d", c.Clients, threads,
			mostConnections)
	case c.ThinkS < 0 || c.ThinkS > schedule.MostSeconds:
		return mistake.New("closed.think_s", "%g is out of range; give 0 to %d", c.ThinkS, schedule.MostSeconds)
	case c.Pace < 0 || c.Pace > schedule.MostRate:
		return mistake.New("closed.pace", "%g is out of range; give 0 (none) to %g requests/s", c.Pace, float64(schedule.MostRate))
	case c.Requests < 0 || c.Requests > mostCounted:
		return mistake.New("closed.requests", "%d is out of range; give 0 (no number) to %d", c.Requests, int64(mostCounted))
	case c.Iterations < 0 || c.Iterations > 0 && c.Requests == 0:
		return mistake.New("closed.iterations", "%d of no requests; give closed.requests", c.Iterations)
	case (c.Requests > 0 || c.Total > 0) && max(c.Iterations, 1) > mostIterations/clients:
		return mistake.New("closed.iterations", "%d of %d clients are more than %d together", c.Iterations, clients, mostIterations)
	case c.Requests > 0 && max(c.Iterations, 1)*clients > mostCounted/c.Requests:
		return mistake.New("closed.requests", "%d, %d times, of %d clients are more than %d together", c.Requests, c.Iterations, clients,
			int64(mostCounted))
	case c.Total > 0 && c.Requests > 0:
		return mistake.New("closed.total", "excludes closed.requests; give one of them")
	case c.Total < 0 || c.Total > mostCounted || c.Total > 0 && c.Total < clients:
		return mistake.New("closed.total", "%d is out of range; each of the %d clients sends at least one", c.Total, clients)
	case c.WarmupRequests < 0 || c.WarmupRequests > mostCounted || c.WarmupRequests > 0 && c.Total == 0 && c.Requests == 0:
		return mistake.New("closed.warmup_requests", "%d before no number of requests; give closed.requests or closed.total", c.WarmupRequests)
	case abort:
		return mistake.New("abort", "a closed loop has no planned number of requests to count violations against; leave it out")
	}
	return nil
}

// client is one of a closed loop. It has one request under way at a time.
type client struct {
	number   int64 // among those of all load workers, from 0
	warm     int64 // uncounted requests that it has still to send
	counted  int64 // how many of its requests count; 0: all in the window
	sent     int64 // how many of those it has sent
	each     int64 // how many of those an iteration has
	interval int64 // paced: ns from one slot to the next; 0: not paced
	slot     int64 // the next of them
	current  result.Iteration
}

// client makes the one of that number.
func (c *Closed) client(number int64) client {
	one := client{number: number, warm: share(c.WarmupRequests, int64(c.Clients), number), current: result.Iteration{Client: number + 1, Number: 1}}
	if one.each = c.Requests; c.Requests > 0 {
		one.counted = c.Requests * max(c.Iterations, 1)
	} else if c.Total > 0 {
		one.counted = share(c.Total, int64(c.Clients), number)
		one.each = one.counted
	}
	if c.Pace > 0 {
		one.interval = max(int64(math.Round(float64(c.Clients)*1e9/c.Pace)), 1)
		one.slot = int64(math.Round(float64(number) * 1e9 / c.Pace))
	}
	return one
}

// share is the part of a whole number that falls to one of several.
func share(whole, of, number int64) int64 {
	part := whole / of
	if number < whole%of {
		part++
	}
	return part
}

// clients are those that fall to one of the plan's threads, by its number among those of all load workers.
func (p *Plan) clients(thread int) []client {
	threads := p.threads()
	list := make([]client, 0, portion(p.Closed.Clients, threads, thread))
	for number := thread; number < p.Closed.Clients; number += threads {
		list = append(list, p.Closed.client(int64(number)))
	}
	return list
}

// countedRequests are those that fall to this load worker.
func (p *Plan) countedRequests() (sum int64) {
	for thread := range p.Threads {
		for _, one := range p.clients(p.number(thread)) {
			sum += one.counted
		}
	}
	return sum
}

// depart notes that a request of the client goes out.
func (c *client) depart(measured bool) {
	if measured {
		c.sent++
	} else if c.warm > 0 {
		c.warm--
	}
}

// step is which of n equal parts of the client's counted requests the last one lies in.
func (c *client) step(n int64) int64 { return (c.sent - 1) * n / c.counted }

// finished says whether it has sent all that it was to send.
func (c *client) finished() bool { return c.counted > 0 && c.sent >= c.counted }

// arrive notes the outcome of a counted request, and returns the iteration that ends with it, if one does.
func (c *client) arrive(x *exchange, at int64, good bool) (ended result.Iteration, whole bool) {
	now := &c.current
	if now.Requests == 0 {
		now.StartNs = x.at
	}
	now.Requests++
	now.EndNs = at
	if good {
		now.LatencyNs += at - x.at
	} else {
		now.Errors++
	}
	if now.Requests < c.each {
		return result.Iteration{}, false
	}
	ended = *now
	c.current = result.Iteration{Client: now.Client, Number: now.Number + 1}
	return ended, true
}

// turn is when the client sends next, if it could at the time `ready`: then, or at its next slot if that is later. A slot
// that passed while the client waited is used late if it is the last such one; those before it are missed. So no slot is
// made up for. Missed are counted that lie between `from` and `to`; nothing is sent from `to` on.
func (c *client) turn(ready, from, to int64) (at, missed int64) {
	if c.interval == 0 {
		return ready, 0
	}
	if ready > c.slot {
		last := c.slot + (ready-c.slot)/c.interval*c.interval
		if ready >= to {
			last = to
		}
		missed = c.miss(last, from)
	}
	at = max(ready, c.slot)
	c.slot += c.interval
	return at, missed
}

// miss passes over the slots before `until`, and counts those from `from` on.
func (c *client) miss(until, from int64) (missed int64) {
	passed := ceil(until-c.slot, c.interval)
	missed = passed - min(ceil(from-c.slot, c.interval), passed)
	c.slot += passed * c.interval
	return missed
}

// ceil is how many whole intervals cover a length; 0 if there is none to cover.
func ceil(length, interval int64) int64 {
	if length <= 0 {
		return 0
	}
	return (length + interval - 1) / interval
}
