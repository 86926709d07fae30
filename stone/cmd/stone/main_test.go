package main

import (
	"runtime/debug"
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
