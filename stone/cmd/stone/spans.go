package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"loadstone.dev/stone/spans"
)

const spansHelp = `usage: stone spans --out FILE [--grpc HOST:PORT] [--http HOST:PORT] [--forward HOST:PORT] [--cpus LIST]
       stone spans --control [...]
       stone spans --recover DIR
       stone spans --merge FILE PART...

Receives spans of any service that speaks OTLP, over gRPC or HTTP, and makes one sorted spans.parquet of a trial's.
Prints how many it received, wrote and refused, and what it could not read. What was written before a kill -9 is not
lost: see --recover.

  --out FILE           record from now until SIGTERM or SIGINT; then print the counts
  --control            record trial by trial, by orders on standard input, as below; ends with its input
  --recover DIR        make the files of trials below DIR whose receiver was killed, print their counts and end
  --merge FILE         make one file of those that several receivers made of a trial, print its counts and end
  --grpc HOST:PORT     where OTLP over gRPC arrives  (127.0.0.1:4317)
  --http HOST:PORT     where OTLP over HTTP arrives, POST /v1/traces, protobuf or JSON  (127.0.0.1:4318)
  --forward HOST:PORT  send the same spans on to another receiver over gRPC, such as Jaeger; none if left out
  --cpus LIST          run on these CPUs alone, such as 0 or 0-2,5; two CPUs at a time if left out

A host that is left out is the loopback interface. Orders and answers are JSON, one a line:

  {"verb": "begin", "file": "/abs/spans.parquet"}      begins a trial; spans before it are counted "outside"
  {"verb": "end", "quiet_s": 2.6, "within_s": 10}      waits until no span comes for quiet_s, at most within_s;
                                                       answers with the counts when the file is whole
  {"verb": "counts"}                                   the counts so far

Examples:
  stone spans --out spans.parquet
  stone spans --out spans.parquet --grpc 0.0.0.0:4317 --cpus 0 --forward 127.0.0.1:14317
  (echo '{"verb": "begin", "file": "/tmp/spans.parquet"}'; sleep 60; echo '{"verb": "end"}') | stone spans --control

Exit codes: 0 stopped by SIGINT or SIGTERM, 1 unexpected, 2 bad input.
`

func init() {
	verbs["spans"] = verb{"receive spans (OTLP) and make a Parquet file of a trial's", runSpans}
}

const (
	spansMemory   = 144 << 20 // bytes: Go collects garbage harder as it comes near
	spansCPUs     = 2         // at a time: the rest is for what is observed
	spansMostWait = 10 * time.Second
)

// spansOptions are what the command line gives.
type spansOptions struct {
	grpc, http    string
	forward, cpus string
	out, recover  string
	merge         string
	control       bool
}

func runSpans(args []string) int {
	var options spansOptions
	flags := flag.NewFlagSet("spans", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&options.grpc, "grpc", "127.0.0.1:4317", "")
	flags.StringVar(&options.http, "http", "127.0.0.1:4318", "")
	flags.BoolVar(&options.control, "control", false, "")
	flags.StringVar(&options.forward, "forward", "", "")
	flags.StringVar(&options.cpus, "cpus", "", "")
	flags.StringVar(&options.out, "out", "", "")
	flags.StringVar(&options.recover, "recover", "", "")
	flags.StringVar(&options.merge, "merge", "", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(spansHelp)
		return 0
	case err != nil:
		return spansFailed(fmt.Errorf("%w: %w; see 'stone spans --help'", spans.ErrBad, err))
	case options.merge != "":
		return spansFailed(mergeSpans(options.merge, flags.Args()))
	case flags.NArg() > 0:
		return spansFailed(fmt.Errorf("%w: unexpected argument %q; see 'stone spans --help'", spans.ErrBad, flags.Arg(0)))
	case options.recover == "" && options.control == (options.out != ""):
		return spansFailed(fmt.Errorf("%w: give one of --out FILE, --control and --recover DIR", spans.ErrBad))
	}
	if err := confine(options.cpus); err != nil {
		return spansFailed(err)
	}
	if options.recover != "" {
		return spansFailed(recoverSpans(options.recover))
	}
	return spansFailed(receiveSpans(options))
}

// confine bounds memory and CPUs.
func confine(list string) error {
	debug.SetMemoryLimit(spansMemory)
	if list == "" {
		runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), spansCPUs))
		return nil
	}
	cpus, err := spans.ParseCPUs(list)
	if err != nil {
		return err
	}
	return spans.Bind(cpus)
}

func recoverSpans(folder string) error {
	if found, err := os.Stat(folder); err != nil || !found.IsDir() {
		return fmt.Errorf("%w: --recover %s is no folder", spans.ErrBad, folder)
	}
	return spans.Recover(folder, func(file string, counts spans.Counts) {
		printLine(map[string]any{"file": file, "counts": counts})
	})
}

func mergeSpans(out string, parts []string) error {
	debug.SetMemoryLimit(spansMemory)
	counts, err := spans.Merge(out, parts)
	if err == nil {
		printLine(counts)
	}
	return err
}

// receiveSpans serves until it is stopped, then ends a trial that is still running.
func receiveSpans(options spansOptions) error {
	if options.out != "" {
		var err error
		if options.out, err = fileByHand(options.out); err != nil {
			return err
		}
	}
	var forward *spans.Forwarder
	if options.forward != "" {
		if _, _, err := net.SplitHostPort(options.forward); err != nil {
			return fmt.Errorf("%w: --forward %q is not HOST:PORT", spans.ErrBad, options.forward)
		}
		var err error
		if forward, err = spans.Forward(options.forward, spans.DefaultBudget.Forward); err != nil {
			return err
		}
		defer forward.Close()
	}
	recorder := spans.NewRecorder(spans.DefaultBudget, forward)
	on, err := listen(options)
	if err != nil {
		return err
	}
	if options.out != "" {
		if err := recorder.Begin(options.out, 0); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fmt.Printf("listening on %s (gRPC)\nlistening on %s (HTTP)\n", on.GRPC.Addr(), on.HTTP.Addr())
	if options.control {
		return recordByOrders(ctx, on, recorder)
	}
	return recordUntil(ctx, on, recorder)
}

// recordByOrders carries out orders on standard input until that ends, or ctx. A trial that runs then gets its file.
func recordByOrders(ctx context.Context, on spans.Listeners, recorder *spans.Recorder) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	obeyed := make(chan error, 1)
	go func() {
		obeyed <- spans.Control(os.Stdin, os.Stdout, recorder)
		stop()
	}()
	err := spans.Serve(serving, on, recorder)
	if ctx.Err() == nil && err == nil { // else standard input may never end
		err = <-obeyed
	}
	return errors.Join(err, recorder.Close())
}

// fileByHand is the file of the only trial. It is not one whose receiver was killed: its spans would be written over.
func fileByHand(out string) (string, error) {
	file, err := filepath.Abs(out)
	if err == nil && spans.Left(file) {
		err = fmt.Errorf("%w: --out %s: a receiver that was killed left spans in %s%s; make a file of them with stone spans --recover %s, or remove them",
			spans.ErrBad, out, file, spans.PiecesSuffix, filepath.Dir(file))
	}
	return file, err
}

// recordUntil ends the only trial before it stops to listen: what is still under way belongs to it.
func recordUntil(ctx context.Context, on spans.Listeners, recorder *spans.Recorder) error {
	serving, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- spans.Serve(serving, on, recorder) }()
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-served:
		served <- nil
	}
	counts, err := recorder.End(spans.UsualQuiet, spansMostWait)
	stop()
	if err = errors.Join(failed, err, <-served); err == nil {
		printLine(counts)
	}
	return err
}

// listen opens the ports on which spans arrive.
func listen(options spansOptions) (on spans.Listeners, err error) {
	places := []struct {
		flag, address string
		listener      *net.Listener
	}{{"grpc", options.grpc, &on.GRPC}, {"http", options.http, &on.HTTP}}
	for _, place := range places {
		name, port, err := net.SplitHostPort(place.address)
		if err != nil {
			return on, fmt.Errorf("%w: --%s %q is not HOST:PORT", spans.ErrBad, place.flag, place.address)
		}
		if name == "" {
			name = "127.0.0.1"
		}
		if *place.listener, err = net.Listen("tcp", net.JoinHostPort(name, port)); err != nil {
			return on, fmt.Errorf("%w: --%s: %w; give another address", spans.ErrBad, place.flag, err)
		}
	}
	return on, nil
}

func printLine(value any) {
	if text, err := json.Marshal(value); err == nil {
		fmt.Println(string(text))
	}
}

// spansFailed tells what went wrong, if anything, and returns the exit code.
func spansFailed(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "stone spans:", err)
	if errors.Is(err, spans.ErrBad) {
		return 2
	}
	return 1
}
