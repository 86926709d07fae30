package load

import "time"

// clock tells the time since the run's start in ns, by the monotonic clock; negative before the start.
type clock struct{ start time.Time }

func (c clock) now() int64 { return int64(time.Since(c.start)) }

// wall is what to subtract from a wall-clock time in ns to get the time since the start. It changes only when
// the wall clock is set, so it is read again from time to time.
func (c clock) wall() int64 {
	now := time.Now()
	return now.UnixNano() - int64(now.Sub(c.start))
}

// at is the time of the run at which that was.
func (c clock) at(t time.Time) int64 { return int64(t.Sub(c.start)) }
