package main

import (
	"syscall"
	"testing"
	"time"
)

func TestWaitEndsWhenItIsStopped(t *testing.T) {
	command := stone(t, nil, "wait")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("stopped: %v", err)
	}
}
