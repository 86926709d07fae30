package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Kind says what a client can do about an error.
type Kind string

// The kinds of errors.
const (
	Input    Kind = "input"    // the request is malformed, or names a verb, a path or a user that cannot be
	Missing  Kind = "missing"  // there is no such file, process, deployment, knob
	Refused  Kind = "refused"  // no permission, or another owns it
	Failed   Kind = "failed"   // everything else that the operating system answers
	Canceled Kind = "canceled" // by `cancel`, or because the channel ended
)

// Fault is an error as a client receives it.
type Fault struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
	Owner   string `json:"owner,omitempty"` // owner of the deployment that holds the place
}

func (f *Fault) Error() string { return f.Message }

// faultf makes a Fault without a remedy.
func faultf(kind Kind, format string, values ...any) *Fault {
	return &Fault{Kind: kind, Message: fmt.Sprintf(format, values...)}
}

// with adds a remedy.
func (f *Fault) with(remedy string) *Fault {
	f.Remedy = remedy
	return f
}

// asFault gives every error a kind. Errors of the operating system name their file and operation already.
func asFault(err error) *Fault {
	if fault := (*Fault)(nil); errors.As(err, &fault) {
		return fault
	}
	fault := &Fault{Kind: Failed, Message: err.Error()}
	switch {
	case errors.Is(err, context.Canceled):
		fault.Kind, fault.Message = Canceled, "canceled"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		fault.Kind = Missing
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		fault.Kind, fault.Remedy = Refused, "log in as a user who may, or as root"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		fault.Remedy = "make room on that disk"
	}
	return fault
}
