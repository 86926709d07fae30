package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BecomeVerb is how this program starts itself to become a process that was spawned.
const BecomeVerb = "become"

// Files that a process is given by the node that spawns it.
const (
	becomeOrders     = 3 // its become, as JSON
	becomeComplaints = 4 // what went wrong; closed empty when it has become the program
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
	complaints := os.NewFile(becomeComplaints, "complaints")
	syscall.CloseOnExec(becomeComplaints)
	orders := os.NewFile(becomeOrders, "orders")
	wanted := become{}
	err := json.NewDecoder(orders).Decode(&wanted) // nothing whole comes from a node that was killed
	_ = orders.Close()
	if err == nil {
		err = wanted.become()
	}
	fmt.Fprint(complaints, err)
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
	if err := join(b.Join); err != nil {
		return err
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
	program, err := unix.Open(b.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "execute", Path: b.Path, Err: err}
	}
	if b.Credential != nil {
		if err := becomes(b.Credential); err != nil {
			return err
		}
	}
	if err := os.Chdir(b.Folder); err != nil {
		return err
	}
	err = syscall.Exec(b.Path, b.Argv, b.Env)
	if errors.Is(err, unix.EACCES) { // its user cannot enter a folder above it, as in a home
		err = execute(program, b.Argv, b.Env)
	}
	return &os.PathError{Op: "execute", Path: b.Path, Err: err}
}

// execute the program of a descriptor (execveat(2)).
func execute(program int, argv, env []string) error {
	arguments, err := syscall.SlicePtrFromStrings(argv)
	if err != nil {
		return err
	}
	variables, err := syscall.SlicePtrFromStrings(env)
	if err != nil {
		return err
	}
	empty := new(byte)
	_, _, errno := unix.RawSyscall6(unix.SYS_EXECVEAT, uintptr(program), uintptr(unsafe.Pointer(empty)),
		uintptr(unsafe.Pointer(&arguments[0])), uintptr(unsafe.Pointer(&variables[0])), unix.AT_EMPTY_PATH, 0)
	return errno
}

// ended is how a process ended, where a node saw it.
type ended struct {
	ExitCode *int   `json:"exit_code"` // nil if a signal ended it
	Signal   string `json:"signal"`
}

func (j *journaled) record(name string) string { return filepath.Join(j.process(name), "record") }
func (j *journaled) ended(name string) string  { return filepath.Join(j.process(name), "ended") }
