package node

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// forker starts children from one thread that lives as long as the node. The kernel sends a child's death signal
// (prctl(2), PR_SET_PDEATHSIG) when the thread that forked it ends, which Go's other threads may do at any time.
// The node is protected when memory runs out; its children are not.
type forker chan func()

func newForker() forker {
	f := make(forker)
	protection := protect(scoreFile)
	go func() {
		runtime.LockOSThread()
		for start := range f {
			protection.lift()
			start()
			protection.set()
		}
	}()
	return f
}

// start starts a command, on these cores if there are any: a child inherits those of its thread.
func (f forker) start(command *exec.Cmd, cores []int) error {
	result := make(chan error)
	f <- func() {
		if len(cores) == 0 {
			result <- command.Start()
			return
		}
		result <- startOn(cores, command)
	}
	return <-result
}

func startOn(cores []int, command *exec.Cmd) error {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	wanted, err := coreSet(cores)
	if err != nil {
		return err
	}
	if err := unix.SchedSetaffinity(0, &wanted); err != nil {
		return faultf(Failed, "cannot use cores %v: %s", cores, err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }() // we were there before
	return command.Start()
}

// mostCores is how many a kernel's set of cores has here.
const mostCores = 1024

func coreSet(cores []int) (set unix.CPUSet, err error) {
	for _, core := range cores {
		if core < 0 || core >= mostCores {
			return set, faultf(Input, "core %d: give 0 to %d", core, mostCores-1)
		}
		set.Set(core)
	}
	return set, nil
}
