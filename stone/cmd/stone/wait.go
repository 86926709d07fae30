package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

const waitHelp = `usage: stone wait

Does nothing until SIGTERM or SIGINT. A container of a cluster that waits so is where Loadstone starts 'stone node', by
the cluster's own client (kubectl exec, nomad alloc exec).
`

func init() {
	verbs["wait"] = verb{"do nothing, in a container that 'stone node' is started into", runWait}
}

func runWait(args []string) int {
	if code, answered := only("wait", waitHelp, args); answered {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return 0
}
