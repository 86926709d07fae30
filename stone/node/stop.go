package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/node/process"
)

type stopArgs struct {
	Deployment string   `json:"deployment"`
	Names      []string `json:"names"`  // in this order
	Signal     string   `json:"signal"` // its name, such as TERM
	GraceS     float64  `json:"grace_s"`
}

// Stopped names the processes that were still running after the grace, and were killed.
type Stopped struct {
	Killed []string `json:"killed"`
}

// leaving is a process that was sent its signal.
type leaving struct {
	name   string
	stat   process.Stat
	handle process.Handle
}

// stop sends processes a signal, in order, and waits until all have ended. Those left after the grace are killed, and
// whatever else is in a control group of theirs. Those that do not run are stopped already.
func (n *Node) stop(ctx context.Context, _ *call, args stopArgs) (answer, error) {
	signal := unix.SignalNum("SIG" + strings.TrimPrefix(args.Signal, "SIG"))
	if signal == 0 {
		return answer{}, faultf(Input, "no signal %.20q", args.Signal).with("give a name such as TERM, INT or QUIT")
	}
	if !(args.GraceS >= 0 && args.GraceS < 1e6) {
		return answer{}, faultf(Input, "grace_s is %v: give seconds", args.GraceS)
	}
	entry, err := n.find(args.Deployment)
	if err != nil {
		return answer{}, err
	}
	var all []leaving
	defer func() {
		for _, running := range all {
			running.handle.Close()
		}
	}()
	for _, name := range args.Names {
		if err := checkName("process", name); err != nil {
			return answer{}, err
		}
		if _, err := os.Stat(entry.process(name)); errors.Is(err, fs.ErrNotExist) {
			return answer{}, faultf(Missing, "no process %q in %s", name, entry.Deployment)
		}
		stat, alive := n.identity(entry, name)
		if !alive {
			continue
		}
		handle, err := process.Open(stat)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err == nil {
			all = append(all, leaving{name, stat, handle})
			err = handle.Signal(signal)
		}
		if err != nil {
			return answer{}, fmt.Errorf("cannot signal %s (process id %d): %w", name, stat.PID, err)
		}
	}
	stopped, err := n.leave(ctx, entry, all, time.Duration(args.GraceS*float64(time.Second)))
	for _, name := range args.Names {
		if group := entry.group(name); group != "" {
			err = errors.Join(err, n.groups.Kill(ctx, group))
		}
	}
	return answer{value: stopped}, err
}

// leave waits for processes to end, and kills those that do not.
func (n *Node) leave(ctx context.Context, entry *journaled, all []leaving, grace time.Duration) (Stopped, error) {
	stopped := Stopped{[]string{}}
	deadline := time.Now().Add(grace)
	for _, running := range all {
		for !running.handle.Wait(min(time.Until(deadline), lookForCancel)) {
			if ctx.Err() != nil {
				return stopped, ctx.Err()
			}
			if time.Now().Before(deadline) {
				continue
			}
			stopped.Killed = append(stopped.Killed, running.name)
			if err := n.kill(ctx, entry, running.name, running.stat); err != nil {
				return stopped, err
			}
			break
		}
	}
	return stopped, nil
}

const lookForCancel = 100 * time.Millisecond

// kill a process and its kin.
func (n *Node) kill(ctx context.Context, entry *journaled, name string, stat process.Stat) error {
	if group := entry.group(name); group != "" {
		return n.groups.Kill(ctx, group)
	}
	if _, left := process.Family(stat); len(left) > 0 {
		return fmt.Errorf("processes %v of %s survive SIGKILL", left, name)
	}
	return nil
}

type endArgs struct {
	Deployment string `json:"deployment"`
}

// Ended names the processes that were running.
type Ended struct {
	Running []string `json:"running"`
}

// end kills a deployment's processes and removes all of it, its journal entry last. One that is not there has ended.
func (n *Node) end(ctx context.Context, _ *call, args endArgs) (answer, error) {
	was := Ended{[]string{}}
	entry, err := n.find(args.Deployment)
	if fault := (*Fault)(nil); errors.As(err, &fault) && fault.Kind == Missing {
		return answer{value: was}, nil
	}
	if err != nil {
		return answer{}, err
	}
	unlock, err := lock(ctx, entry.at, unix.LOCK_EX)
	if err != nil && asFault(err).Kind == Missing { // another node has ended it meanwhile
		return answer{value: was}, nil
	}
	if err != nil {
		return answer{}, err
	}
	defer unlock()
	names, err := entry.names()
	if err != nil {
		return answer{}, err
	}
	for _, name := range names {
		stat, alive := n.identity(entry, name)
		if alive {
			was.Running = append(was.Running, name)
		}
		// Children that outlive a process stay in its session, whose id is its own unless another process has that now.
		now, gone := process.Read(stat.PID)
		if entry.Group == nil && stat.PID != 0 && (gone != nil || now.Is(stat)) {
			if err := n.kill(ctx, entry, name, stat); err != nil {
				return answer{}, err
			}
		}
	}
	if entry.Group != nil {
		if err := n.groups.Kill(ctx, *entry.Group); err != nil {
			return answer{}, err
		}
		if err := n.groups.Remove(ctx, *entry.Group); err != nil {
			return answer{}, err
		}
	}
	return answer{value: was}, entry.remove()
}

// remove everything of a deployment; that it is in the journal comes last. The records of its processes are moved away
// first: a spawner that sees one of them end (reap) would otherwise add to the folder while it is being removed.
func (j *journaled) remove() error {
	moved := filepath.Join(j.at, "removed")
	if err := os.RemoveAll(moved); err != nil {
		return err
	}
	if err := os.Rename(j.process(""), moved); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, part := range []string{j.data(), filepath.Dir(j.log("")), moved} {
		if err := os.RemoveAll(part); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(j.at, "deployment.json")); err != nil {
		return err
	}
	return os.RemoveAll(j.at)
}
