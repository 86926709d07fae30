package load

import (
	"os"
	"slices"
	"strconv"
	"strings"

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
	from, to           int64 // the times measured between
	busyFrom, busyTo   int64
	bytesFrom, bytesTo int64 // received
	sentFrom, sentTo   int64
	started, ended     bool
	looked, busyThen   int64   // at the end of the last interval
	latest             float64 // the busy share of that
}

// watch is called now and then by the thread itself.
func (u *usage) watch(now int64, s schedule, idle int64, r *recorder) {
	if !u.started && now >= s.from {
		u.from, u.busyFrom, u.started = now, cpu(unix.RUSAGE_THREAD)-idle, true
		u.bytesFrom, u.sentFrom = r.bytes, r.now.sofar.sent
	}
	if u.started && !u.ended {
		u.to, u.busyTo = now, cpu(unix.RUSAGE_THREAD)-idle
		u.bytesTo, u.sentTo = r.bytes, r.now.sofar.sent
		u.ended = now >= s.to
	}
}

// since is the busy share of the time from the last call to this one, by the thread itself.
func (u *usage) since(now, idle int64) float64 {
	busy := cpu(unix.RUSAGE_THREAD) - idle
	if now > u.looked {
		u.latest = min(max(float64(busy-u.busyThen)/float64(now-u.looked), 0), 1)
	}
	u.looked, u.busyThen = now, busy
	return u.latest
}

// share is the busy part of the time, 0 to 1.
func (u *usage) share() float64 {
	if u.to <= u.from {
		return 0
	}
	return min(max(float64(u.busyTo-u.busyFrom)/float64(u.to-u.from), 0), 1)
}

// throttling is how long the threads of our cgroup have been kept from running by its CPU limit, ns.
type throttling struct {
	ns    int64
	known bool
}

// throttledNow reads the counter of cgroup v2, or of v1's cpu controller.
func throttledNow() throttling {
	lines, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return throttling{}
	}
	for line := range strings.Lines(string(lines)) { // hierarchy:controllers:path
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		switch {
		case fields[1] == "":
			if t := throttledIn("/sys/fs/cgroup"+fields[2], "throttled_usec", 1000); t.known {
				return t
			}
		case slices.Contains(strings.Split(fields[1], ","), "cpu"):
			for _, mount := range []string{fields[1], "cpu"} {
				// In a container the path is the host's, and our own cgroup is at the mount's root.
				for _, path := range []string{fields[2], ""} {
					if t := throttledIn("/sys/fs/cgroup/"+mount+path, "throttled_time", 1); t.known {
						return t
					}
				}
			}
		}
	}
	return throttling{}
}

func throttledIn(folder, key string, unit int64) throttling {
	text, err := os.ReadFile(folder + "/cpu.stat")
	if err != nil {
		return throttling{}
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, key+" "); found {
			count, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return throttling{count * unit, err == nil}
		}
	}
	return throttling{}
}

func (t throttling) since(earlier throttling) throttling {
	return throttling{t.ns - earlier.ns, t.known && earlier.known}
}

// seconds is nil where nothing is known.
func (t throttling) seconds() *float64 {
	if !t.known {
		return nil
	}
	return new(float64(t.ns) / 1e9)
}
