package main

import (
	"errors"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
)

// The loader of compose files compiles its schemas when a program starts: a tenth of a second for a service with a tenth
// of a core.
func TestWithoutTheLoaderOfComposeFiles(t *testing.T) {
	info, known := debug.ReadBuildInfo()
	if !known || len(info.Deps) == 0 {
		t.Fatal("the modules of this program are unknown")
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/compose-spec/compose-go/v2" {
			t.Errorf("%s is linked; stone-compose is the program that reads compose files", module.Path)
		}
	}
}

func TestVerbsWithoutOptionsRefuseArguments(t *testing.T) {
	for _, verb := range []string{"reference", "version", "wait"} {
		if help, err := stone(t, nil, verb, "--help").Output(); err != nil || !strings.HasPrefix(string(help), "usage: stone "+verb) {
			t.Errorf("%s --help: %q, %v", verb, help, err)
		}
		var failed *exec.ExitError
		printed, err := stone(t, nil, verb, "more").Output()
		if !errors.As(err, &failed) || failed.ExitCode() != 2 || len(printed) > 0 || !strings.Contains(string(failed.Stderr), `unexpected argument "more"`) {
			t.Errorf("%s more: %q, %v", verb, printed, err)
		}
	}
}
