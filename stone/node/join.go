package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"loadstone.dev/stone/node/groups"
)

// JoinVerb is how this program begins a command in a control group that is there.
const JoinVerb = "join"

// Join puts this process into a group and becomes a command; it returns only if it could not.
func Join(group string, argv []string) error {
	kernel, err := groups.Find("/proc", "")
	if err != nil {
		return err
	}
	if problem := kernel.Problem(); problem != "" {
		return errors.New(problem)
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	if err := join(kernel.Joining(group)); err != nil {
		return err
	}
	return &os.PathError{Op: "execute", Path: path, Err: syscall.Exec(path, argv, os.Environ())}
}

// join writes the id of this process into files of a control group.
func join(files []string) error {
	for _, file := range files {
		if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return fmt.Errorf("cannot join a control group: %w", err)
		}
	}
	return nil
}
