package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"loadstone.dev/stone/node/counters"
	"loadstone.dev/stone/node/metrics"
)

const agentHelp = `usage: stone agent [--listen HOST:PORT] [--replicas FILE] [--proc DIR] [--sys DIR] [--cgroup DIR]

Shows what this machine and its replicas use to Prometheus, until SIGTERM or SIGINT:

  GET /metrics   counters now, with the label subject
  GET /healthz   whether it lives

Beyond the loopback interface it requires a token: it reads STONE_AGENT_TOKEN from its environment, and Prometheus sends it
as "Authorization: Bearer TOKEN". Energy counters need root. docs/reference/agent.md explains every metric.

  --listen HOST:PORT   where; without a host, on the loopback interface  (127.0.0.1:9620)
  --replicas FILE      JSON that names replicas: {"rate-1": {"container": "ID"}, "geo-1": {"group": "loadstone/..."}};
                       read again for each scrape
  --proc DIR           the machine's /proc  (/proc)
  --sys DIR            the machine's /sys  (/sys)
  --cgroup DIR         where the machine's control groups are mounted; all that --proc says is mounted, where left out

Example:
  stone agent --replicas replicas.json

Exit codes: 0 stopped by SIGINT or SIGTERM, 1 unexpected, 2 bad input, 3 the machine's /proc or control groups cannot be read.
`

// agentGCPercent keeps its memory small: it makes little that is thrown away.
const agentGCPercent = 30

func init() {
	verbs["agent"] = verb{"show what this machine and its replicas use to Prometheus", runAgent}
}

func runAgent(args []string) int {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("listen", "127.0.0.1:9620", "")
	replicas := flags.String("replicas", "", "")
	proc := flags.String("proc", "/proc", "")
	sys := flags.String("sys", "/sys", "")
	cgroup := flags.String("cgroup", "", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(agentHelp)
		return 0
	case err != nil:
		return agentFailed(2, fmt.Errorf("%w; see 'stone agent --help'", err))
	case flags.NArg() > 0:
		return agentFailed(2, fmt.Errorf("unexpected argument %q; see 'stone agent --help'", flags.Arg(0)))
	}
	runtime.GOMAXPROCS(1) // it disturbs least what it observes, and never has much to do at once
	debug.SetGCPercent(agentGCPercent)
	host, err := counters.Open(counters.Roots{Proc: *proc, Sys: *sys, Cgroup: *cgroup})
	if err != nil {
		return agentFailed(3, err)
	}
	debug.FreeOSMemory() // starting took some that it never needs again
	name, port, err := net.SplitHostPort(*address)
	if err != nil {
		return agentFailed(2, fmt.Errorf("--listen %q is not HOST:PORT", *address))
	}
	if name == "" {
		name = "127.0.0.1"
	}
	options := metrics.Options{Token: os.Getenv("STONE_AGENT_TOKEN"), Replicas: *replicas}
	if _, err := metrics.ReadReplicas(*replicas); err != nil {
		return agentFailed(2, fmt.Errorf("--replicas: %w", err))
	}
	if options.Token == "" && !isLoopback(name) {
		return agentFailed(2, fmt.Errorf("--listen %s is not on the loopback interface: set STONE_AGENT_TOKEN to a secret of yours", *address))
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(name, port))
	if err != nil {
		return agentFailed(2, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Printf("listening on %s\n", listener.Addr())
	if err := metrics.Serve(ctx, listener, host, options); err != nil {
		return agentFailed(1, err)
	}
	return 0
}

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

func agentFailed(code int, err error) int {
	fmt.Fprintln(os.Stderr, "stone agent:", err)
	return code
}
