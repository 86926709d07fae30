package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A health check is charged to its replica, so `stone ready` answers before the heavy packages are initialised. This
// binary has them all; an import in platform/ready that moves its turn behind them shows here.
func TestReadyAnswersBeforeTheRestIsInitialised(t *testing.T) {
	initialised := func(args ...string) string {
		command := exec.Command(os.Args[0], args...)
		command.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, output)
		}
		return string(output)
	}
	early, whole := initialised("ready", "--help"), initialised("-test.list", "^$")
	for _, late := range []string{"init reflect ", "init net ", "init google.golang.org/grpc "} {
		if strings.Contains(early, late) || !strings.Contains(whole, late) {
			t.Errorf("%q in the check: %t, in the whole binary: %t; want only the latter",
				late, strings.Contains(early, late), strings.Contains(whole, late))
		}
	}
	if !strings.Contains(early, "usage: stone ready") {
		t.Errorf("it printed %s", early)
	}
}

func TestReadyIsAVerb(t *testing.T) {
	if code, printed, _ := runVerb(t, "ready", "--help"); code != 0 || !strings.Contains(printed, "stone ready") {
		t.Errorf("code %d, %q", code, printed)
	}
	if code, _, complaint := runVerb(t, "ready", "ftp://127.0.0.1:1"); code != 2 || !strings.Contains(complaint, "is neither") {
		t.Errorf("code %d, %q", code, complaint)
	}
}
