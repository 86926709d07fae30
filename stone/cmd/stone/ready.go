package main

import (
	"os"

	"loadstone.dev/stone/platform/ready"
)

func init() {
	// Run as `stone ready`, the package has answered and exited before this line; here it is for `stone help`.
	verbs["ready"] = verb{"exit with 0 if servers of this host are ready: a health check", func(args []string) int {
		return ready.Main(args, os.Stdout, os.Stderr)
	}}
}
