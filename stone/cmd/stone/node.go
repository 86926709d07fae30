package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"loadstone.dev/stone/node"
)

const nodeHelp = `usage: stone node [--state DIR] [--group PATH] [--proc DIR] [--sys DIR] [--cgroup DIR]

Acts on this machine for Loadstone, which is on the other side of its standard input and output: runs and spawns
processes in control groups, moves files, reads what the kernel counts, sets knobs. It opens no port;
to start it is to have the rights of its user on this machine. docs/reference/node.md is its protocol.

What it runs ends when its input ends. What it spawned lives on, and is in the journal below DIR.

  --state DIR    the journal, data and logs  ($LOADSTONE_HOST_STATE, else /var/lib/loadstone for root, else
                 $XDG_STATE_HOME/loadstone/node/MACHINE or
                 ~/.local/state/loadstone/node/MACHINE: machines may share a home folder)
  --group PATH   control group below which those of deployments are made  (loadstone)
  --proc DIR     the machine's /proc  (/proc)
  --sys DIR      the machine's /sys  (/sys)
  --cgroup DIR   where the machine's control groups are mounted; all that --proc says is mounted, where left out

Example:
  echo '{"id":1,"verb":"facts","args":{"tools":["docker"]}}' | stone node

Exit codes: 0 its input ended, 1 unexpected, 2 bad input, 3 the machine's /proc cannot be read.
`

func init() {
	verbs["node"] = verb{"act on this machine, for a client on its standard input and output", runNode}
}

func runNode(args []string) int {
	if len(args) == 2 && args[0] == node.KeeperVerb {
		signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // it outlives the node for a moment
		node.Keep(os.Stdin)
		return 0
	}
	if len(args) == 1 && args[0] == node.BecomeVerb {
		return node.Become()
	}
	if len(args) > 2 && args[0] == node.JoinVerb {
		return nodeFailed(1, node.Join(args[1], args[2:]))
	}
	options := node.Options{Version: version}
	flags := flag.NewFlagSet("node", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&options.State, "state", node.DefaultState(), "")
	flags.StringVar(&options.Group, "group", "loadstone", "")
	flags.StringVar(&options.Proc, "proc", "/proc", "")
	flags.StringVar(&options.Sys, "sys", "/sys", "")
	flags.StringVar(&options.Cgroup, "cgroup", "", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(nodeHelp)
		return 0
	case err != nil:
		return nodeFailed(2, fmt.Errorf("%w; see 'stone node --help'", err))
	case flags.NArg() > 0:
		return nodeFailed(2, fmt.Errorf("unexpected argument %q; see 'stone node --help'", flags.Arg(0)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// Go's default for a broken standard output is to die at once, with nothing undone. A handler, unlike ignoring it,
	// is not inherited by children.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	switch err := node.Serve(ctx, options, os.Stdin, os.Stdout); {
	case errors.Is(err, node.ErrSetup):
		return nodeFailed(3, err)
	case err != nil:
		return nodeFailed(2, err)
	}
	return 0
}

func nodeFailed(code int, err error) int {
	fmt.Fprintln(os.Stderr, "stone node:", err)
	return code
}
