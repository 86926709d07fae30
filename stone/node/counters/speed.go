package counters

import "loadstone.dev/stone/reference"

// speed is how long a computation that is always the same takes while the node is at work.
type speed struct{ sampler *reference.Sampler }

// openSpeed begins to sample on these cores; on all where none are given.
func openSpeed(cores []int) collector {
	return speed{reference.Sample(func() { keepTo(cores) })}
}

func (s speed) read(r *reading) error {
	seconds, loops := s.sampler.Total()
	r.put("node", "reference_seconds_total", seconds)
	r.put("node", "reference_loops_total", loops)
	return nil
}

func (s speed) close() { s.sampler.End() }
