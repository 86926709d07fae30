package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// BecomeVerb is how this program starts itself to become a process that was spawned.
const BecomeVerb = "become"

// Files that a process is given by the node that spawns it.
const (
	becomeFrom = 3 // its become, as JSON
	becomeSays = 4 // why it could not; closed without a word when it could
)

// become is what a process does before it is replaced by the program that it runs. Any step that fails ends it.
type become struct {
	Record     string              `json:"record"`
	Boot       string              `json:"boot"`
	Join       []string            `json:"join"`  // files of control groups
	Cores      []int               `json:"cores"` // where no control group binds it
	Credential *syscall.Credential `json:"credential"`
	Folder     string              `json:"folder"`
	Path       string              `json:"path"`
	Argv       []string            `json:"argv"`
	Env        []string            `json:"env"`
}

// recorded is how a process is found again: its /proc/PID/stat tells it from a later one of the same id.
type recorded struct {
	Boot    string `json:"boot"`
	Stat    string `json:"stat"`
	SinceNS int64  `json:"since_ns"` // ns since 1970
}

// Become never returns if all goes well.
func Become() int {
	runtime.LockOSThread() // its affinity stays that of the process
	says := os.NewFile(becomeSays, "says")
	syscall.CloseOnExec(becomeSays)
	from := os.NewFile(becomeFrom, "from")
	wanted := become{}
	err := json.NewDecoder(from).Decode(&wanted) // nothing whole comes from a node that was killed
	_ = from.Close()
	if err == nil {
		err = wanted.become()
	}
	fmt.Fprint(says, err)
	return 1
}

func (b *become) become() error {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return err
	}
	if err := saveJSON(b.Record, recorded{b.Boot, string(stat), time.Now().UnixNano()}); err != nil {
		return err
	}
	for _, file := range b.Join {
		if err := os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return fmt.Errorf("cannot join a control group: %w", err)
		}
	}
	if len(b.Cores) > 0 {
		cores, err := coreSet(b.Cores)
		if err == nil {
			err = unix.SchedSetaffinity(0, &cores)
		}
		if err != nil {
			return fmt.Errorf("cannot use cores %v: %w", b.Cores, err)
		}
	}
	limit := syscall.Rlimit{}
	err = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	limit.Cur = limit.Max // servers have many connections
	if err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)); err != nil {
		return err
	}
	if b.Credential != nil {
		if err := becomes(b.Credential); err != nil {
			return err
		}
	}
	if err := os.Chdir(b.Folder); err != nil {
		return err
	}
	return &os.PathError{Op: "execute", Path: b.Path, Err: syscall.Exec(b.Path, b.Argv, b.Env)}
}

// ended is how a process ended, where a node saw it.
type ended struct {
	ExitCode *int   `json:"exit_code"` // nil if a signal ended it
	Signal   string `json:"signal"`
}

func (j *journaled) record(name string) string { return filepath.Join(j.process(name), "record") }
func (j *journaled) ended(name string) string  { return filepath.Join(j.process(name), "ended") }
