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
)

const agentHelp = `usage: stone agent [--listen HOST:PORT] [--proc DIR] [--sys DIR] [--cgroup DIR]

Tells, until SIGTERM or SIGINT, what this node's kernel holds containers to and what they have used, and records the
counters of the node and of its replicas. Loadstone runs one on every worker. Of a container it tells only who knows its
whole id, or that of its allocation in Nomad:

  GET    /containers/ID,ID    effective CPU, memory and cores, and counters, as JSON
  POST   /peaks/ID,ID         begins a new memory peak of each, where the kernel and the mount let it
  POST   /recordings          begins to record: {"period_ms": 1000, "replicas": {"rate-1": {"container": "ID"}}}
  POST   /recordings/ID/end   ends a recording and gives it as Parquet
  DELETE /recordings/ID       throws a recording away, as an hour does
  GET    /metrics             the node now, and replicas that are being recorded, for Prometheus
  GET    /healthz             whether it lives

Energy counters need root. docs/reference/agent.md tells every metric.

  --listen HOST:PORT   where; without a host, on the loopback interface  (127.0.0.1:9620)
  --proc DIR           the host's /proc  (/proc)
  --sys DIR            the host's /sys  (/sys)
  --cgroup DIR         where the host's control groups are mounted; all that --proc says is mounted, where left out

Examples:
  stone agent
  docker run --volume /proc:/host/proc:ro --volume /sys:/host/sys:ro --publish 9620:9620 STONE_IMAGE \
    agent --listen 0.0.0.0:9620 --proc /host/proc --sys /host/sys --cgroup /host/sys/fs/cgroup

Exit codes: 0 stopped as asked, 1 unexpected, 2 bad input, 3 the host's /proc or control groups cannot be read.
`

// agentGCPercent keeps its memory small: it makes little that is thrown away.
const agentGCPercent = 30

func init() {
	verbs["agent"] = verb{"tell and record what this node and its containers use", runAgent}
}

func runAgent(args []string) int {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("listen", "127.0.0.1:9620", "")
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
	listener, err := net.Listen("tcp", net.JoinHostPort(name, port))
	if err != nil {
		return agentFailed(2, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Printf("listening on %s\n", listener.Addr())
	if err := counters.Serve(ctx, listener, host); err != nil {
		return agentFailed(1, err)
	}
	return 0
}

func agentFailed(code int, err error) int {
	fmt.Fprintln(os.Stderr, "stone agent:", err)
	return code
}
