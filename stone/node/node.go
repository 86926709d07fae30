// Package node acts on the machine that it runs on, for a client on the other side of its standard input and output: the
// verb `stone node`. It runs and spawns processes, moves files, and reads what the kernel counts. docs/reference/node.md
// is its protocol.
//
// What was run, and what was tuned, ends with the channel. What was spawned lives on, and is in the journal below State.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"loadstone.dev/stone/node/counters"
	"loadstone.dev/stone/node/groups"
	"loadstone.dev/stone/node/tuning"
)

// Options of a node.
type Options struct {
	State string // folder of the journal, of data and of logs
	Group string // control group below which those of deployments are made
	Proc  string // the machine's /proc
	Sys   string // the machine's /sys
	// Cgroup is where the machine's control groups are mounted; wherever Proc says, where empty.
	Cgroup  string
	Version string // this program's version
}

// Node is one machine, for one client.
type Node struct {
	Options
	groups  *groups.Kernel
	reader  func() (*counters.Host, error) // the kernel's counters; opened on first use
	forker  forker
	keeper  *keeper
	reaper  reaper
	puts    puts
	claims  claims
	watches watches
	tuner   *tuning.Tuner
}

// ErrSetup is wrapped where the kernel of this machine cannot be read.
var ErrSetup = errors.New("cannot begin")

// Serve speaks to one client until its input ends. The error says what the client did wrong, or is an ErrSetup.
func Serve(ctx context.Context, options Options, in io.Reader, out io.Writer) error {
	kernel, err := groups.Find(options.Proc, options.Cgroup)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSetup, err)
	}
	n := &Node{Options: options, groups: kernel, forker: newForker()}
	n.tuner = tuning.New(tuning.On(options.Sys, options.Proc), tuning.Folder())
	n.reader = sync.OnceValues(n.openReader)
	n.keeper = &keeper{forker: n.forker, state: n.State}
	defer n.close()
	channel := newChannel(in, out, n.verbs())
	hello, err := n.hello()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSetup, err)
	}
	if channel.out.Write(hello, nil) != nil {
		return nil // the client has gone already
	}
	trimming, stop := context.WithCancel(ctx)
	defer stop()
	go n.trimLogs(trimming)
	return channel.serve(ctx)
}

func (n *Node) verbs() map[string]handler {
	return map[string]handler{
		"facts":   verb(n.facts),
		"clock":   verb(n.clock),
		"run":     verb(n.run),
		"put":     verb(n.put),
		"get":     verb(n.get),
		"ports":   verb(n.ports),
		"read":    verb(n.read),
		"peaks":   verb(n.peaks),
		"watch":   verb(n.watch),
		"unwatch": verb(n.unwatch),
		"begin":   verb(n.begin),
		"spawn":   verb(n.spawn),
		"list":    verb(n.list),
		"log":     verb(n.log),
		"stop":    verb(n.stop),
		"end":     verb(n.end),
		"knobs":   verb(n.knobs),
		"tune":    verb(n.tune),
		"verify":  verb(n.verify),
		"restore": verb(n.restore),
		"tuned":   verb(n.tuned),
	}
}

// verb decodes the arguments of a handler.
func verb[A any](handle func(context.Context, *call, A) (answer, error)) handler {
	return func(ctx context.Context, c *call) (answer, error) {
		var args A
		if len(c.args) > 0 {
			if err := decode(c.args, &args); err != nil {
				return answer{}, faultf(Input, "%s", err)
			}
		}
		return handle(ctx, c, args)
	}
}

// close undoes what must not outlive the channel and is no request's own.
func (n *Node) close() {
	if err := n.tuner.Undo(); err != nil {
		fmt.Fprintln(os.Stderr, "stone node:", err)
	}
	n.keeper.close()
	n.puts.close()
	n.claims.close()
}
