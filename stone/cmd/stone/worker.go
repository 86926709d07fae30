package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"loadstone.dev/stone/load/workers"
)

const workerHelp = `usage: stone worker [--listen HOST:PORT]

Drives its share of a load for 'stone load --workers', one run at a time, until SIGTERM or SIGINT. The plan comes from
the coordinator; files that it names, such as a script or a trace, have to be here under the same path.

  --listen HOST:PORT   where coordinators find it; without a host, on the loopback interface  (127.0.0.1:7400)

The environment variable LOADSTONE_TOKEN is the secret that a coordinator has to know. It is needed where other hosts can
reach the address. It is never sent; what else goes over the connection is not encrypted. Who knows it can make this host
send any requests anywhere.

Examples:
  stone worker
  LOADSTONE_TOKEN=... stone worker --listen 10.0.0.1:7400

Exit codes: 0 stopped as asked, 1 unexpected, 2 bad input.
`

func init() {
	verbs["worker"] = verb{"drive a share of a load from this host", runWorker}
}

func runWorker(args []string) int {
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("listen", "127.0.0.1:7400", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(workerHelp)
		return 0
	case err != nil:
		return workerFailed(2, fmt.Errorf("%w; see 'stone worker --help'", err))
	case flags.NArg() > 0:
		return workerFailed(2, fmt.Errorf("unexpected argument %q; see 'stone worker --help'", flags.Arg(0)))
	}
	secret := os.Getenv(workers.Variable)
	listener, err := workers.Listen(*address, secret)
	if err != nil {
		return workerFailed(2, err)
	}
	log.SetOutput(io.Discard) // net/http writes a line there for each bad answer; they are counted
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Printf("listening on %s\n", listener.Addr())
	if err := workers.Serve(ctx, listener, secret, os.Stderr); err != nil {
		return workerFailed(1, err)
	}
	return 0
}

func workerFailed(code int, err error) int {
	fmt.Fprintln(os.Stderr, "stone worker:", err)
	return code
}
