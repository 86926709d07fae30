package node

import (
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// reaper waits for the processes that a node spawned, and notes how each ended in a file.
type reaper struct {
	mu      sync.Mutex
	waiting map[string]chan struct{} // by the note's path; closed once it is written
}

// reap waits for a child in the background. The note of an earlier one must have been awaited.
func (r *reaper) reap(command *exec.Cmd, note string) {
	written := make(chan struct{})
	r.mu.Lock()
	if r.waiting == nil {
		r.waiting = map[string]chan struct{}{}
	}
	r.waiting[note] = written
	r.mu.Unlock()
	go func() {
		_ = command.Wait() // its state tells more
		// Nothing is written once its deployment was removed.
		_ = saveJSON(note, endOf(command))
		r.mu.Lock()
		delete(r.waiting, note)
		r.mu.Unlock()
		close(written)
	}()
}

// await the note of a process that is not alive: it is written a moment later.
func (r *reaper) await(note string) {
	r.mu.Lock()
	written := r.waiting[note]
	r.mu.Unlock()
	if written != nil {
		<-written
	}
}

func endOf(command *exec.Cmd) ended {
	if status, is := command.ProcessState.Sys().(syscall.WaitStatus); is && status.Signaled() {
		return ended{Signal: unix.SignalName(status.Signal())}
	}
	code := command.ProcessState.ExitCode()
	return ended{ExitCode: &code}
}
