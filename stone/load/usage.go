package load

import (
	"golang.org/x/sys/unix"
)

// cpu returns the user and system time in ns that `who` has used.
func cpu(who int) int64 {
	var u unix.Rusage
	if unix.Getrusage(who, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// usage measures how busy a load thread is within the measured window: the share that says whether the
// generator itself was the limit. Time spent polling for nothing (spin) is not busy.
type usage struct {
	from, to         int64 // the times measured between
	busyFrom, busyTo int64
	started, ended   bool
}

// watch is called now and then by the thread itself.
func (u *usage) watch(now int64, s schedule, idle int64) {
	if !u.started && now >= s.from {
		u.from, u.busyFrom, u.started = now, cpu(unix.RUSAGE_THREAD)-idle, true
	}
	if u.started && !u.ended {
		u.to, u.busyTo = now, cpu(unix.RUSAGE_THREAD)-idle
		u.ended = now >= s.to
	}
}

// share is the busy part of the time, 0 to 1.
func (u *usage) share() float64 {
	if u.to <= u.from {
		return 0
	}
	return min(max(float64(u.busyTo-u.busyFrom)/float64(u.to-u.from), 0), 1)
}
