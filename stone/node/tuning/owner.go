package tuning

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Owner is the process that tunes; Started (ticks since boot) tells it from a later one of the same id.
type Owner struct {
	PID     int    `json:"pid"`
	Started int    `json:"started"`
	Command string `json:"command"` // at the desk, for people
}

func self() Owner {
	started, _ := started(os.Getpid()) // our own is always there
	return Owner{PID: os.Getpid(), Started: started}
}

// alive is whether exactly that process still runs; a zombie does not.
func (o Owner) alive() bool {
	started, err := started(o.PID)
	return err == nil && started == o.Started
}

func (o Owner) is(other Owner) bool { return o.PID == other.PID && o.Started == other.Started }

func (o Owner) String() string { return fmt.Sprintf("process %d (%s)", o.PID, o.Command) }

// started reads proc(5): the name in parentheses may hold anything; then come the state and 18 fields to the start.
func started(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 || strings.Contains("ZX", fields[0]) {
		return 0, errors.New("has ended")
	}
	return strconv.Atoi(fields[19])
}
