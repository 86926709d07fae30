package tuning

import (
	"os"

	"golang.org/x/sys/unix"
)

// system is the calls that make a journal last; a test has each of them fail, or kill the process before it.
type system interface {
	openat(folder int, name string, flags int, mode uint32) (int, error)
	fsync(descriptor int) error
	renameat(folder int, from, to string) error
	unlinkat(folder int, name string) error
}

type calls struct{}

func (calls) openat(folder int, name string, flags int, mode uint32) (int, error) {
	return unix.Openat(folder, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
}

func (calls) fsync(descriptor int) error { return unix.Fsync(descriptor) }

func (calls) renameat(folder int, from, to string) error {
	return unix.Renameat(folder, from, folder, to)
}

func (calls) unlinkat(folder int, name string) error { return unix.Unlinkat(folder, name, 0) }

// openFolder opens a folder that only this user and root can write in, following no link: another writer could make
// this process write any value of the kernel's.
func openFolder(path string) (int, error) {
	descriptor, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, folderError(path, err)
	}
	if err := ours(path, descriptor); err != nil {
		unix.Close(descriptor)
		return -1, err
	}
	return descriptor, nil
}

func ours(path string, descriptor int) error {
	var found unix.Stat_t
	if err := unix.Fstat(descriptor, &found); err != nil {
		return folderError(path, err)
	}
	if found.Uid != 0 && int(found.Uid) != os.Geteuid() {
		return refused("have root own it, or name another folder in LOADSTONE_HOST_STATE",
			"%s: belongs to user %d, who could change what is set back", path, found.Uid)
	}
	if found.Mode&0o022 != 0 {
		return refused("chmod go-w "+path, "%s: others may write in it, and could change what is set back", path)
	}
	return nil
}

func folderError(path string, err error) error {
	return &Error{Failed, path + ": cannot be used: " + reason(err), "tuning needs root: use sudo"}
}
