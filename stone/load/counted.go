package load

import (
	"math"

	"loadstone.dev/stone/load/result"
)

// arrived notes the outcome of a counted request of a client.
func (r *recorder) arrived(c *client, x *exchange, at int64, good bool) {
	r.counted.ToNs = max(r.counted.ToNs, at)
	if ended, whole := c.arrive(x, at, good); whole {
		r.counted.Iterations = append(r.counted.Iterations, ended)
	}
}

// began says whether the measured window has begun.
func (r *recorder) began(now int64) bool {
	return now >= r.schedule.From && (r.counted == nil || r.counted.FromNs != math.MaxInt64)
}

// step is which hundredth of the window a request falls into; of a counted loop, which hundredth of its client's requests.
func (r *recorder) step(x *exchange) int64 {
	if r.counted != nil {
		return x.client.step(result.Steps)
	}
	return r.part(x.at, result.Steps)
}
