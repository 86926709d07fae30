package spans

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ParseCPUs reads a list as the kernel writes one: "0", "0-2,5".
func ParseCPUs(list string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 10)
		to, err2 := strconv.ParseUint(last, 10, 10)
		if err != nil || err2 != nil || from > to {
			return nil, fmt.Errorf("%w: %q is no list of CPUs; write 0 or 0-2,5", ErrBad, list)
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, int(cpu))
		}
	}
	return cpus, nil
}

// Bind lets this process run on these CPUs alone, all its threads.
func Bind(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	for bound := map[string]bool{}; ; { // a thread may have begun another one meanwhile, which inherits only what is bound
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		further := false
		for _, thread := range threads {
			if bound[thread.Name()] {
				continue
			}
			bound[thread.Name()], further = true, true
			id, err := strconv.Atoi(thread.Name())
			if err == nil {
				err = unix.SchedSetaffinity(id, &set)
			}
			if err != nil && err != unix.ESRCH { // it has ended
				return fmt.Errorf("%w: cannot run on CPUs %v: %w", ErrBad, cpus, err)
			}
		}
		if !further {
			runtime.GOMAXPROCS(len(cpus))
			return nil
		}
	}
}
