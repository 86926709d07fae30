package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The journal is a folder for each deployment, below State/deployments:
//
//	deployment.json         a journaled; written before anything else of it is made, removed last
//	data/                   what its processes keep
//	logs/NAME.log           what they wrote
//	processes/NAME/record   a recorded; written by the process itself before it becomes what it runs
//	processes/NAME/ended    an ended, where a node saw that
//
// Locks (flock(2)) on folders keep nodes of several clients apart: they end with their node.

// journaled is one deployment on this machine.
type journaled struct {
	Version    int    `json:"version"`
	Deployment string `json:"deployment"`
	Digest     string `json:"digest"` // the digest of what the client deploys, so that something else of the same name is noticed
	Owner      string `json:"owner"`
	User       string `json:"user"` // the user that its processes run as, where we are root
	// Group is its control group. Nil where none can be made, for the reason beside it.
	Group            *string `json:"group"`
	UnlimitedBecause string  `json:"unlimited_because"`

	at string // its folder in the journal
}

// mostNameBytes is checked apart: a counted repetition in nameOf would take 100 kB in every process.
const mostNameBytes = 100

var nameOf = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func checkName(what, name string) error {
	if len(name) > mostNameBytes || !nameOf.MatchString(name) {
		return faultf(Input, "%.120q is no name of a %s: give letters, digits and ._-", name, what)
	}
	return nil
}

func (n *Node) deployments() string { return filepath.Join(n.State, "deployments") }

func (j *journaled) data() string               { return filepath.Join(j.at, "data") }
func (j *journaled) log(name string) string     { return filepath.Join(j.at, "logs", name+".log") }
func (j *journaled) process(name string) string { return filepath.Join(j.at, "processes", name) }

// group of a process; empty where there are none.
func (j *journaled) group(name string) string {
	if j.Group == nil {
		return ""
	}
	return *j.Group + "/" + name
}

// names of the processes that were spawned, sorted.
func (j *journaled) names() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(j.at, "processes"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// find a deployment; a Missing fault if there is none.
func (n *Node) find(name string) (*journaled, error) {
	if err := checkName("deployment", name); err != nil {
		return nil, err
	}
	found := &journaled{at: filepath.Join(n.deployments(), name)}
	text, err := os.ReadFile(filepath.Join(found.at, "deployment.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, faultf(Missing, "no deployment %q on this machine", name)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, found); err != nil {
		return nil, faultf(Failed, "%s/deployment.json is no journal entry: %s", found.at, err).
			with("stop what it lists by hand, then remove the folder")
	}
	return found, nil
}

// saveJSON writes a file to the disk, whole or not at all.
func saveJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".*")
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return syncFolder(filepath.Dir(path))
}

const lockEvery = 5 * time.Millisecond

// lockWithin is how long a lock is waited for: less than a client waits for its answer. A variable for tests.
var lockWithin = 20 * time.Second

// lock a folder; how is unix.LOCK_EX or unix.LOCK_SH. A folder that was removed meanwhile is missing.
func lock(ctx context.Context, folder string, how int) (unlock func(), err error) {
	file, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockWithin); ; {
		err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(err, file.Close())
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(faultf(Failed, "%s is locked by %s, for %s already", folder, holder(file), lockWithin).
				with("end that process, or wait for it"), file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(lockEvery):
		}
	}
	locked, wrong := file.Stat()
	now, gone := os.Stat(folder)
	if wrong != nil || gone != nil || !os.SameFile(locked, now) {
		_ = file.Close()
		return nil, faultf(Missing, "%s was removed meanwhile", folder)
	}
	return func() { _ = file.Close() }, nil
}

// holder names the process that has a lock on a file, as proc_locks(5) has it.
func holder(file *os.File) string {
	var found unix.Stat_t
	if unix.Fstat(int(file.Fd()), &found) != nil {
		return "another process"
	}
	locks, _ := os.ReadFile("/proc/locks")
	inode := ":" + strconv.FormatUint(found.Ino, 10)
	for line := range strings.Lines(string(locks)) {
		fields := strings.Fields(line) // 1: FLOCK ADVISORY WRITE 1234 08:01:5678 0 EOF
		if len(fields) > 5 && fields[1] == "FLOCK" && strings.HasSuffix(fields[5], inode) {
			name, _ := os.ReadFile("/proc/" + fields[4] + "/comm")
			return fmt.Sprintf("process %s (%s)", fields[4], strings.TrimSpace(string(name)))
		}
	}
	return "another process"
}
