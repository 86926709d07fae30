// Package process knows processes again and kills them. A process id alone may mean a later process; so everything here
// is done through descriptors of processes (pidfd_open(2), Linux 5.3 and later) whose identity was checked.
package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Stat is what proc_pid_stat(5) says of a process.
type Stat struct {
	PID     int
	State   byte
	Parent  int
	Group   int // process group
	Session int
	Threads int
	Started uint64 // ticks since boot
}

// Alive is false for a zombie, unless other threads than its first one still run.
func (s Stat) Alive() bool { return s.State != 'Z' && s.State != 'X' || s.Threads > 1 }

// Is says whether both are the same process.
func (s Stat) Is(other Stat) bool { return s.PID == other.PID && s.Started == other.Started }

// Parse reads a line of /proc/PID/stat: the id, the name in parentheses (which may hold anything), the state, and on.
func Parse(line string) (Stat, error) {
	before, after := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if before < 1 || after < before {
		return Stat{}, fmt.Errorf("%.80q is no line of /proc/PID/stat", line)
	}
	fields := strings.Fields(line[after+1:])
	if len(fields) < 20 || len(fields[0]) != 1 {
		return Stat{}, fmt.Errorf("%.80q is no line of /proc/PID/stat", line)
	}
	stat := Stat{State: fields[0][0]}
	var failed error
	for _, number := range []struct {
		into *int
		text string
	}{
		{&stat.PID, strings.TrimSpace(line[:before])}, {&stat.Parent, fields[1]}, {&stat.Group, fields[2]},
		{&stat.Session, fields[3]}, {&stat.Threads, fields[17]},
	} {
		value, err := strconv.Atoi(number.text)
		*number.into = value
		failed = errors.Join(failed, err)
	}
	started, err := strconv.ParseUint(fields[19], 10, 64)
	stat.Started = started
	return stat, errors.Join(failed, err)
}

// Read a process; an error if there is none.
func Read(pid int) (Stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Stat{}, err
	}
	return Parse(string(text))
}

// All processes there are.
func All() []Stat {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	var found []Stat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if stat, err := Read(pid); err == nil {
			found = append(found, stat)
		}
	}
	return found
}

// Handle is an open process.
type Handle struct{ descriptor int }

// Open a process if it is alive and still the same; unix.ESRCH if not.
func Open(wanted Stat) (Handle, error) {
	handle, err := OpenAny(wanted.PID)
	if err != nil {
		return Handle{}, err
	}
	if now, err := Read(wanted.PID); err != nil || !now.Is(wanted) || !now.Alive() {
		handle.Close()
		return Handle{}, unix.ESRCH
	}
	return handle, nil
}

// OpenAny opens the process that has an id now. Look only then whether it is the one that is meant: it cannot become
// another any more.
func OpenAny(pid int) (Handle, error) {
	descriptor, err := unix.PidfdOpen(pid, 0)
	return Handle{descriptor}, err
}

// Signal sends a signal; a process that has ended is no error.
func (h Handle) Signal(signal unix.Signal) error {
	err := unix.PidfdSendSignal(h.descriptor, signal, nil, 0)
	if err == unix.ESRCH {
		return nil
	}
	return err
}

// Wait until the process has ended, or a while; whether it has.
func (h Handle) Wait(within time.Duration) bool {
	deadline := time.Now().Add(within)
	for {
		left := max(time.Until(deadline), 0)
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(h.descriptor), Events: unix.POLLIN}}, int((left+time.Millisecond-1)/time.Millisecond))
		if ready > 0 {
			return true
		}
		if err != unix.EINTR && left == 0 {
			return false
		}
	}
}

// Close the descriptor.
func (h Handle) Close() { _ = unix.Close(h.descriptor) }
