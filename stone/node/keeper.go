package node

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"loadstone.dev/stone/node/process"
)

// KeeperVerb is how this program starts itself to outlive a node for a moment.
const KeeperVerb = "keep"

// keeper is a process that kills what a node runs if the node is killed itself. The kernel's death signal reaches only
// the children of a node; the keeper finds their whole process groups. It is started with the first command.
type keeper struct {
	forker forker
	state  string // the node's folder; among the keeper's arguments it identifies the node

	mu      sync.Mutex
	tried   bool
	command *exec.Cmd
	groups  *os.File // the keeper reads it: +GROUP and -GROUP, a line each
}

func (k *keeper) add(group int)    { k.tell('+', group) }
func (k *keeper) forget(group int) { k.tell('-', group) }

// ready starts the keeper, so that it is there before the first command is.
func (k *keeper) ready() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.tried {
		k.tried = true
		k.start()
	}
}

// tell the keeper of a group. Without a keeper the death signal still ends the group's leader.
func (k *keeper) tell(sign rune, group int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.groups != nil {
		_, _ = fmt.Fprintf(k.groups, "%c%d\n", sign, group)
	}
}

func (k *keeper) start() {
	read, write, err := os.Pipe()
	if err != nil {
		return
	}
	defer read.Close()
	k.command = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{"stone", "node", KeeperVerb, k.state}, Env: []string{"GOMAXPROCS=1"}, Dir: "/",
		Stdin: read, SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if k.forker.start(k.command, nil) != nil {
		_ = write.Close()
		return
	}
	k.groups = write
}

// close ends the keeper, which kills what was not forgotten.
func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tried = true
	if k.groups != nil {
		_ = k.groups.Close()
		_ = k.command.Wait()
		k.groups = nil
	}
}

// Keep is the keeper: it reads process groups until its input ends, then kills those that are left. They are in its own
// session, which tells them from groups of the same number that came later.
func Keep(in io.Reader) {
	groups := map[int]bool{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		group, err := strconv.Atoi(strings.TrimLeft(lines.Text(), "+-"))
		switch {
		case err != nil:
		case lines.Text()[0] == '+':
			groups[group] = true
		default:
			delete(groups, group)
		}
	}
	session, err := unix.Getsid(0)
	if err != nil || len(groups) == 0 {
		return
	}
	process.KillAll(func(stat process.Stat) bool { return stat.Session == session && groups[stat.Group] })
}
