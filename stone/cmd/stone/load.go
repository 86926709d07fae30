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

	"loadstone.dev/stone/load"
	"loadstone.dev/stone/load/mistake"
	"loadstone.dev/stone/load/result"
	"loadstone.dev/stone/load/script"
	"loadstone.dev/stone/load/workers"
)

const loadHelp = `usage: stone load --plan PLAN.json --out DIR [--progress]
       stone load --member

Drives load over HTTP/1.1, HTTP/2 or gRPC. Open loop: every request goes out at its scheduled time, whether or not
earlier ones were answered, and latency counts from that time. Writes into DIR: summary.json, latency.hlog (HdrHistogram
V2), latency.hgrm (percentile spectrum), wrk2.txt (as wrk2 would print it), iterations.parquet of a closed loop with a
number of requests and, with "record_requests", requests.parquet.

  --plan FILE   what to send where, when and for how long
  --out DIR     where the results go; made if need be
  --progress    a JSON line a second on standard error; lines that are not read in time are dropped
  --member      drive a share of a load for the coordinator that speaks over standard input and output, and end with it:
                a 'stone load' whose plan has this command among its members

A plan (optional keys are marked with their default; docs/reference/summary.md has all):

  {"target": "http://127.0.0.1:5000",          or https://, with "tls": {"ca": "/ca.pem"} if need be
   "replicas": ["127.0.0.1:5001"],             none; further host:port; all addresses of all names are loaded
   "protocol": "http/1.1",                     http/1.1; http/2 or grpc
   "connections": 64,                          64
   "policy": "fixed",                          fixed; growing (up to most_connections) or new (one for each request)
   "pipelining": 1,                            1; requests at a time on a connection of HTTP/1.1
   "streams": 100,                             100; requests at a time on a connection of HTTP/2 and gRPC
   "threads": 1,                               1; load threads, each with its share of connections and schedule
   "arrival": {"process": "poisson", "rate": 1000},   constant, zipf ...; or "closed": {"clients": 20, "think_s": 0}
   "warmup_s": 2,                              0; the rate grows to the whole one; not counted
   "duration_s": 10,                           the measured window; its limit where "closed" has "requests" and "iterations"
   "timeout_s": 5,                             5; from the actual send, connecting included
   "abandon": true,                            true; what waited for a connection for longer is not sent
   "drain_s": 5,                               timeout_s; how long to wait for answers after the window
   "seed": 42,                                 0; the same seed gives the same requests at the same times
   "wait": "auto",                             auto; precise, tick (fewer wake-ups) or spin
   "cpus": [0],                                none; load thread i runs on the i-th of them
   "slo": {"percentile": 99, "latency_ms": 200},      none; violations are counted against it
   "abort": true,                              false; stop once the SLO can no longer be held
   "record_requests": true,                    false; a row for each request in requests.parquet
   "metrics": "127.0.0.1:9100",                none; Prometheus metrics while it runs
   "wrk2_layout": "before-2023",               current; of wrk2.txt
   "members": [                                none; load workers that drive it together, each its share; what each
     {"name": "client-2",                      found is kept in DIR/workers. "cpus" may be given for each
      "command": ["ssh", "10.0.0.2", "stone", "load", "--member"]}],
   "operations": [                             or, for wrk's and wrk2's, "script": {"path": "/x.lua", "args": [], "env": {}}
     {"name": "hotels", "weight": 60, "method": "GET", "path": "/hotels?inDate={inDate}&lat={lat}",
      "headers": {"X": "y"}, "body": "", "expect": {"status": [200], "json": {"path": "features"}},
      "fields": {"lat": {"kind": "decimal", "min": 37.783, "max": 38.264, "step": 0.001},
                 "inDate": {"kind": "date", "from": "2015-04-09", "to": "2015-04-23"}}},
     {"name": "visit", "steps": [
       {"name": "login", "method": "POST", "path": "/login", "extract": {"token": "json:token"}},
       {"name": "read", "path": "/read?token={token}", "think": {"min_s": 0.5, "max_s": 1}}]}]}

Examples:
  echo '{"target":"http://127.0.0.1:8080","arrival":{"process":"constant","rate":100},"duration_s":5,
         "operations":[{"name":"home","path":"/"}]}' > plan.json
  stone load --plan plan.json --out results
  stone load --plan plan.json --out results --progress

SIGUSR1 ends it early: the results are of what was sent until then.

Exit codes: 0 done (also when aborted by the SLO or SIGUSR1), 1 unexpected, 2 bad plan or script, 3 target or member not reachable,
130 interrupted.
`

func init() {
	verbs["load"] = verb{"drive open-loop HTTP load and measure its latency", runLoad}
}

func runLoad(args []string) int {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	planPath := flags.String("plan", "", "")
	out := flags.String("out", "", "")
	watched := flags.Bool("progress", false, "")
	member := flags.Bool("member", false, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(loadHelp)
		return 0
	case err != nil:
		return loadFailed(2, "%v; see 'stone load --help'", err)
	case flags.NArg() > 0:
		return loadFailed(2, "unexpected argument %q; see 'stone load --help'", flags.Arg(0))
	case *member && flags.NFlag() > 1:
		return loadFailed(2, "--member is alone: the plan comes from the coordinator; see 'stone load --help'")
	case !*member && (*planPath == "" || *out == ""):
		return loadFailed(2, "give --plan and --out; see 'stone load --help'")
	}
	log.SetOutput(io.Discard)      // net/http writes a line there for each bad answer; they are counted
	signal.Ignore(syscall.SIGPIPE) // a reader of progress, or a coordinator, that goes away ends nothing by itself
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if *member {
		return serveCoordinator(ctx)
	}
	enough := make(chan os.Signal, 1)
	signal.Notify(enough, syscall.SIGUSR1)
	defer signal.Stop(enough)
	var progress io.Writer
	if *watched {
		progress = os.Stderr
	}
	var mistake *mistake.Error
	var inScript *script.Error
	switch summary, err := drive(ctx, *planPath, *out, progress, enough); {
	case err == nil && summary.Connections.Shortfall() != "":
		return loadFailed(0, "warning: %s", summary.Connections.Shortfall())
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return loadFailed(130, "interrupted; no results were written")
	case errors.As(err, &mistake):
		return loadFailed(2, "%s: %v", *planPath, err)
	case errors.As(err, &inScript):
		return loadFailed(2, "%v", err)
	case errors.Is(err, load.ErrOtherwise), errors.Is(err, workers.ErrUnavailable):
		return loadFailed(3, "%v", err)
	case errors.Is(err, load.ErrUnreachable):
		return loadFailed(3, "%v; is the application running?", err)
	default:
		return loadFailed(1, "%v", err)
	}
}

// drive carries a plan out here, or has its members do it; what comes from `enough` ends it early, with results.
func drive(ctx context.Context, planPath, out string, progress io.Writer, enough <-chan os.Signal) (*result.Summary, error) {
	text, err := os.ReadFile(planPath)
	if err != nil {
		return nil, &mistake.Error{Problem: fmt.Sprintf("cannot read the plan: %v", err)}
	}
	plan, err := load.ParsePlan(text)
	switch {
	case err != nil:
		return nil, err
	case len(plan.Members) > 0:
		return workers.Run(ctx, text, plan.Members, enough, out, progress)
	}
	plan.Enough = enough
	return load.Run(ctx, plan, out, progress)
}

// serveCoordinator is one of the members of another process's plan.
func serveCoordinator(ctx context.Context) int {
	in, out := os.Stdin, os.Stdout
	os.Stdout = os.Stderr // what a script prints
	if err := workers.Serve(ctx, in, out); err != nil {
		return loadFailed(1, "%v", err)
	}
	return 0
}

// loadFailed says why, and returns the exit code.
func loadFailed(code int, format string, values ...any) int {
	words := load.NewFeed(os.Stderr) // which a reader of progress may have stopped reading
	defer words.Close()
	fmt.Fprintf(words, "stone load: "+format+"\n", values...)
	return code
}
