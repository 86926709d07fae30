package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	mostOutputBytes = 1 << 20         // kept of each output, its end
	outputsWithin   = 2 * time.Second // after the command's end; a process that holds them longer has left its group
)

type runArgs struct {
	Argv     []string          `json:"argv"`
	Env      map[string]string `json:"env"`
	Folder   string            `json:"folder"`
	User     string            `json:"user"`
	TimeoutS float64           `json:"timeout_s"`
	Follow   bool              `json:"follow"`
	Cores    []int             `json:"cores"`
}

// Ran is how a command ended. Its payload is the end of its standard output, then that of its standard error.
type Ran struct {
	Code        int    `json:"code"`   // -1 if a signal ended it
	Signal      string `json:"signal"` // its name, or empty
	TimedOut    bool   `json:"timed_out"`
	Truncated   bool   `json:"truncated"` // whether output was longer than what is kept of it
	Dropped     int    `json:"dropped"`   // lines that were not sent as events, because the client reads too slowly
	StdoutBytes int    `json:"stdout_bytes"`
	StderrBytes int    `json:"stderr_bytes"`
}

// run runs a command to its end. Nothing of its process group outlives it, a cancellation, or the node.
func (n *Node) run(ctx context.Context, c *call, args runArgs) (answer, error) {
	if err := checkCommand(args.Argv, args.Env, args.Folder); err != nil {
		return answer{}, err
	}
	if !(args.TimeoutS > 0 && args.TimeoutS < 1e6) {
		return answer{}, faultf(Input, "timeout_s is %v: give seconds", args.TimeoutS)
	}
	environment := environment(args.Env)
	path, err := program(args.Argv[0], environment["PATH"])
	if err != nil {
		return answer{}, err
	}
	as, err := credential(args.User)
	if err != nil {
		return answer{}, err
	}
	command := &exec.Cmd{
		Path: path, Args: args.Argv, Env: pairs(environment), Dir: cmp.Or(args.Folder, "/"),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: as},
	}
	out := newOutput("stdout", args.Follow)
	problems := newOutput("stderr", args.Follow)
	pipes, err := plumb(command, c.payload, out, problems)
	if err != nil {
		return answer{}, err
	}
	n.keeper.ready()
	if err := n.forker.start(command, args.Cores); err != nil {
		pipes.close()
		return answer{}, err
	}
	n.keeper.add(command.Process.Pid)
	lines := follow(c, args.Follow, out, problems)
	pipes.started()
	timedOut, err := n.wait(ctx, command, time.Duration(args.TimeoutS*float64(time.Second)))
	pipes.finish(outputsWithin)
	dropped := lines.finish(ctx)
	if err != nil {
		return answer{}, err
	}
	stdout, stderr := out.end(), problems.end()
	ran := Ran{
		Code: command.ProcessState.ExitCode(), TimedOut: timedOut, Truncated: out.cut || problems.cut, Dropped: dropped,
		StdoutBytes: len(stdout), StderrBytes: len(stderr),
	}
	if status, is := command.ProcessState.Sys().(syscall.WaitStatus); is && status.Signaled() {
		ran.Signal = unix.SignalName(status.Signal())
	}
	return answer{ran, slices.Concat(stdout, stderr)}, nil
}

// wait for a command, and take it off the process table. Until then its id is that of its process group, and of no other.
func (n *Node) wait(ctx context.Context, command *exec.Cmd, within time.Duration) (timedOut bool, err error) {
	pid := command.Process.Pid
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		timedOut = true
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL) // those that it has left behind, too
	<-ended
	n.keeper.forget(pid)
	if broken := command.Wait(); err == nil && !errors.As(broken, new(*exec.ExitError)) {
		err = broken
	}
	return timedOut, err
}

// pipes are the standard input and outputs of a command.
type pipes struct {
	ours, its []*os.File
	copies    []func()
	copied    []chan struct{} // each closed when a copy has ended
}

// plumb gives a command its standard input and two outputs.
func plumb(command *exec.Cmd, input []byte, out, problems *output) (*pipes, error) {
	p := &pipes{}
	if len(input) > 0 {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		command.Stdin = read
		p.add(write, read, func() { _, _ = io.Copy(write, bytes.NewReader(input)); _ = write.Close() })
	}
	for _, stream := range []struct {
		output *output
		file   *io.Writer
	}{{out, &command.Stdout}, {problems, &command.Stderr}} {
		read, write, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, err
		}
		*stream.file = write
		p.add(read, write, func() { _, _ = io.Copy(stream.output, read); stream.output.flush() })
	}
	return p, nil
}

func (p *pipes) add(ours, its *os.File, copies func()) {
	p.ours, p.its, p.copies = append(p.ours, ours), append(p.its, its), append(p.copies, copies)
}

// started closes the ends that only the command needs, and copies from and to the others. Call it when the keeper knows
// the command: a client that has read its output may kill this node.
func (p *pipes) started() {
	for _, file := range p.its {
		_ = file.Close()
	}
	for _, copies := range p.copies {
		done := make(chan struct{})
		p.copied = append(p.copied, done)
		go func() { defer close(done); copies() }()
	}
}

// finish waits for what is left in the pipes, for a while.
func (p *pipes) finish(within time.Duration) {
	late := time.After(within)
	for _, done := range p.copied {
		select {
		case <-done:
		case <-late:
			p.close()
			<-done
		}
	}
	p.close()
}

// close makes those who copy end.
func (p *pipes) close() {
	for _, file := range slices.Concat(p.ours, p.its) {
		_ = file.Close()
	}
}
