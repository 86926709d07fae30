package load

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/load/schedule"
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
	process                *process // nil: the load threads do all the work of their requests
	from, to               int64    // the times measured between
	busyFrom, busyTo       int64
	allFrom, allTo         int64 // CPU time of the process
	bytesFrom, bytesTo     int64 // received
	sentFrom, sentTo       int64
	delayFrom, delayTo     int64    // waited for a CPU
	schedstat              *os.File // the thread's file; nil where the kernel has none
	started, ended         bool
	sampledAt, sampledBusy int64 // at the end of the last interval
	sampledAll             int64
	latest                 float64 // the busy share of that
}

// watch is called now and then by the thread itself.
func (u *usage) watch(now int64, s schedule.Schedule, idle int64, r *recorder) {
	if !u.started && r.began(now) {
		u.from, u.busyFrom, u.started = now, cpu(unix.RUSAGE_THREAD)-idle, true
		u.bytesFrom, u.sentFrom, u.delayFrom, u.allFrom = r.bytes, r.now.Totals.Sent, u.delayed(), u.process.busy()
	}
	if u.started && !u.ended {
		u.to, u.busyTo = now, cpu(unix.RUSAGE_THREAD)-idle
		u.bytesTo, u.sentTo, u.delayTo, u.allTo = r.bytes, r.now.Totals.Sent, u.delayed(), u.process.busy()
		u.ended = now >= s.To
	}
}

// since is the busy share of the time from the last call to this one, by the thread itself.
func (u *usage) since(now, idle int64) float64 {
	busy, all := cpu(unix.RUSAGE_THREAD)-idle, u.process.busy()
	if now > u.sampledAt {
		u.latest = u.part(busy-u.sampledBusy, all-u.sampledAll, now-u.sampledAt)
	}
	u.sampledAt, u.sampledBusy, u.sampledAll = now, busy, all
	return u.latest
}

// share is the busy part of the time, 0 to 1.
func (u *usage) share() float64 {
	if u.to <= u.from {
		return 0
	}
	return u.part(u.busyTo-u.busyFrom, u.allTo-u.allFrom, u.to-u.from)
}

// part is the share of a time in which the thread used a CPU or, if that is more, the process all of its CPUs.
func (u *usage) part(own, all, time int64) float64 {
	share := float64(own) / float64(time)
	if u.process != nil {
		share = max(share, float64(all)/float64(time)/float64(u.process.cpus))
	}
	return min(max(share, 0), 1)
}

// process is all threads, where others than the load threads work for their requests, too.
type process struct {
	cpus int          // that they can use at a time
	idle atomic.Int64 // ns of CPU that load threads have polled for nothing
}

func newProcess() *process { return &process{cpus: min(runtime.NumCPU(), runtime.GOMAXPROCS(0))} }

// busy is the CPU time in ns that was used so far.
func (p *process) busy() int64 {
	if p == nil {
		return 0
	}
	return cpu(unix.RUSAGE_SELF) - p.idle.Load()
}

// polled takes note of CPU time that a load thread used to poll for nothing.
func (p *process) polled(ns int64) {
	if p != nil {
		p.idle.Add(ns)
	}
}

// observe opens the calling thread's scheduler statistics, and begins the first interval.
func (u *usage) observe() {
	u.schedstat, _ = os.Open("/proc/thread-self/schedstat")
	u.sampledAll = u.process.busy()
}

func (u *usage) close() { _ = u.schedstat.Close() }

// delayed is how long the thread has waited for a CPU while it could run, ns: the second field of schedstat. Being
// stopped by a signal is not waiting.
func (u *usage) delayed() int64 {
	var text [96]byte
	n, _ := u.schedstat.ReadAt(text[:], 0)
	if fields := strings.Fields(string(text[:n])); len(fields) == 3 {
		ns, _ := strconv.ParseInt(fields[1], 10, 64)
		return ns
	}
	return 0
}

// runDelay is how long the thread waited for a CPU within the window, and the share of it; nil where the kernel does not tell.
func (u *usage) runDelay() (seconds, share *float64) {
	if u.schedstat == nil {
		return nil, nil
	}
	waited := float64(u.delayTo - u.delayFrom)
	return new(waited / 1e9), new(min(waited/float64(max(u.to-u.from, 1)), 1))
}

// polling tells how much CPU polling for nothing has cost. While a thread polls the clock runs on, but it may not
// have the CPU: what it used between two looks is divided between polling in vain and the rest as the time was.
type polling struct {
	wall       int64 // ns polled for nothing so far
	idle       int64 // CPU of that until the last look
	at         int64 // the last look
	cpuThen    int64
	wallThen   int64
	hasStarted bool
}

// cpu is the CPU time in ns that was used to poll for nothing, by the thread itself.
func (p *polling) cpu(now int64) int64 {
	if p.wall == 0 { // the policy does not poll
		return 0
	}
	used := cpu(unix.RUSAGE_THREAD)
	if p.hasStarted {
		p.idle += inVain(p.wall-p.wallThen, used-p.cpuThen, now-p.at)
	}
	p.at, p.cpuThen, p.wallThen, p.hasStarted = now, used, p.wall, true
	return p.idle
}

// inVain is the part of CPU time used that falls to a part of the wall time.
func inVain(part, used, wall int64) int64 {
	if wall <= 0 {
		return 0
	}
	return int64(min(float64(part)/float64(wall), 1) * float64(used))
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
