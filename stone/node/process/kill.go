package process

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	goneWithin = 10 * time.Second
	lookEvery  = 10 * time.Millisecond
)

// KillAll kills the processes that match until there are none: those killed may have forked meanwhile. It gives the ids
// of those that it has seen, and of those that survive.
func KillAll(match func(Stat) bool) (seen, left []int) {
	deadline := time.Now().Add(goneWithin)
	for {
		left = left[:0]
		for _, stat := range All() {
			if !match(stat) || !stat.Alive() {
				continue
			}
			left = append(left, stat.PID)
			if !slices.Contains(seen, stat.PID) {
				seen = append(seen, stat.PID)
			}
			if handle, err := Open(stat); err == nil {
				_ = handle.Signal(unix.SIGKILL) // who may not be killed by us is left
				handle.Close()
			}
		}
		if len(left) == 0 || time.Now().After(deadline) {
			return seen, left
		}
		time.Sleep(lookEvery)
	}
}

// Family kills a process, its session and its descendants, in any session.
func Family(leader Stat) (seen, left []int) {
	kin := map[int]uint64{leader.PID: leader.Started}
	return KillAll(func(stat Stat) bool {
		_, parent := kin[stat.Parent]
		if stat.Is(leader) || parent || stat.Session == leader.PID && stat.Started >= leader.Started {
			kin[stat.PID] = stat.Started
			return true
		}
		return false
	})
}
