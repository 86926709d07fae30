package tuning

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel is what a recorded tree answers differently.
type kernel interface {
	write(file, text string) error
	// swap is swapon(2) and swapoff(2); a negative priority leaves the choice to the kernel.
	swap(device string, on bool, priority int) error
	// writable is whether we have the right, and the file system is not mounted read-only.
	writable(file string) bool
	root() bool
}

// linux is the kernel that runs.
type linux struct{}

func (linux) write(file, text string) error {
	opened, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	defer opened.Close() // the kernel has answered in write
	_, err = opened.WriteString(text)
	return err
}

func (linux) swap(device string, on bool, priority int) error {
	path, err := unix.BytePtrFromString(device)
	if err != nil {
		return err
	}
	const preferred = 0x8000 // SWAP_FLAG_PREFER of swapon(2); the priority is below it
	number, flags := uintptr(unix.SYS_SWAPOFF), 0
	if on {
		number = unix.SYS_SWAPON
		if priority >= 0 {
			flags = preferred | priority
		}
	}
	// Package unix has no function for either.
	if _, _, failed := unix.Syscall(number, uintptr(unsafe.Pointer(path)), uintptr(flags), 0); failed != 0 {
		return failed
	}
	return nil
}

func (linux) writable(file string) bool { return unix.Access(file, unix.W_OK) == nil }

func (linux) root() bool { return os.Geteuid() == 0 }

// recorded writes what it is given into the tree's files. Swap of a recorded machine is none of this one's.
type recorded struct{ linux }

func (r recorded) write(file, text string) error { return r.linux.write(file, text+"\n") }

func (recorded) swap(string, bool, int) error { return unix.ENOTSUP }

func (recorded) root() bool { return true }
