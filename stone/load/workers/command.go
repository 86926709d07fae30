package workers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"loadstone.dev/stone/load"
)

// process is the command that started a load worker, which ends when its standard input is closed.
type process struct {
	command *exec.Cmd
	stderr  *os.File
	exited  chan struct{}
}

const (
	grace     = 5 * time.Second // for a command to end by itself
	stderrEnd = 2 << 10         // bytes of its standard error that an error shows
)

// startCommand starts a member's command. What it writes on standard error goes into a file.
func startCommand(m load.Member, stderr string) (*link, *process, error) {
	if err := os.MkdirAll(filepath.Dir(stderr), 0o755); err != nil {
		return nil, nil, err
	}
	p := &process{command: exec.Command(m.Command[0], m.Command[1:]...), exited: make(chan struct{})}
	var err error
	if p.stderr, err = os.Create(stderr); err != nil {
		return nil, nil, err
	}
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, p.stderr.Close())
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, p.stderr.Close(), theirIn.Close(), ourOut.Close())
	}
	p.command.Stdin, p.command.Stdout, p.command.Stderr = theirIn, theirOut, p.stderr
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the coordinator, which ends them
	err = p.command.Start()
	_, _ = theirIn.Close(), theirOut.Close()
	if err != nil {
		return nil, nil, errors.Join(err, p.stderr.Close(), ourIn.Close(), ourOut.Close())
	}
	go func() {
		_ = p.command.Wait() // end says how it ended
		close(p.exited)
	}()
	return newLink(ourIn, ourOut), p, nil
}

// end waits until the command has ended, whose standard input is closed, or kills it with all that it started in
// its process group. It returns how it ended and the end of what it wrote on standard error.
func (p *process) end() string {
	select {
	case <-p.exited:
	case <-time.After(grace):
		_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
		<-p.exited
	}
	defer p.stderr.Close()
	size, err := p.stderr.Seek(0, io.SeekEnd)
	if err != nil {
		return p.command.ProcessState.String()
	}
	if size == 0 {
		_ = os.Remove(p.stderr.Name())
		return p.command.ProcessState.String()
	}
	text := make([]byte, min(size, stderrEnd))
	n, _ := p.stderr.ReadAt(text, size-int64(len(text)))
	return fmt.Sprintf("%s: %s", p.command.ProcessState, bytes.TrimSpace(bytes.ToValidUTF8(text[:n], []byte("\uFFFD"))))
}
