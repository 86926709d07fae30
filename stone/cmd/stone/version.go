package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

const versionHelp = `usage: stone version

Prints the version, the commit and the Go version.
`

// version is set by the linker (-X main.version=...); a plain build says "devel".
var version = "devel"

func init() {
	verbs["version"] = verb{"print the version, the commit and the Go version", func(args []string) int {
		if code, answered := only("version", versionHelp, args); answered {
			return code
		}
		commit := "unknown"
		if info, ok := debug.ReadBuildInfo(); ok {
			for _, setting := range info.Settings {
				if setting.Key == "vcs.revision" {
					commit = setting.Value
				}
			}
		}
		fmt.Printf("stone %s, commit %s, %s\n", version, commit, runtime.Version())
		return 0
	}}
}
