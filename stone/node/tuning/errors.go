package tuning

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Kinds of errors, as frames name them.
const (
	Missing = "missing" // the host has no such knob
	Refused = "refused" // the kernel refuses a value, we have no right, or another process tunes this host
	Failed  = "failed"  // everything else of the operating system
)

// Error is why a host was not tuned or restored, with what to do about it.
type Error struct{ Kind, Message, Remedy string }

func (e *Error) Error() string { return e.Message + "\n  " + e.Remedy }

func refused(remedy, format string, given ...any) *Error {
	return &Error{Refused, fmt.Sprintf(format, given...), remedy}
}

// reason is the kernel's own word for a failure: "permission denied".
func reason(err error) string {
	var number unix.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	return err.Error()
}
