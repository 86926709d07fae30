package main

import (
	"syscall"
	"testing"
	"time"
)

// A busy machine may take long to start it; stopped before it waits, it ends by the signal, and is given longer.
func TestWaitEndsWhenItIsStopped(t *testing.T) {
	var err error
	for pause := 200 * time.Millisecond; pause < time.Minute; pause *= 3 {
		if err = stoppedAfter(t, pause); err == nil {
			return
		}
	}
	t.Errorf("stopped: %v", err)
}

// stoppedAfter starts `stone wait`, which must still wait after the pause, and returns how it ended when stopped then.
func stoppedAfter(t *testing.T, pause time.Duration) error {
	t.Helper()
	command := stone(t, nil, "wait")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(pause):
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return <-ended
}
