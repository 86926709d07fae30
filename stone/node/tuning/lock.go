package tuning

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lockFolder is below the journal's folder; only its owner may enter it, so no other user can hold the lock.
const lockFolder = "tuning"

// lock keeps others of this host from tuning or restoring meanwhile. It waits for them, but not for ever: an *Error
// names the process that holds it. The function that it returns unlocks.
func (j journal) lock(ctx context.Context) (func(), error) {
	if err := os.MkdirAll(j.folder, 0o755); err != nil {
		return nil, folderError(j.folder, err)
	}
	folder, err := openFolder(j.folder)
	if err != nil {
		return nil, err
	}
	defer unix.Close(folder)
	path := j.folder + "/" + lockFolder
	if err := unix.Mkdirat(folder, lockFolder, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, folderError(path, err)
	}
	inner, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(inner)
	descriptor, err := unix.Openat(inner, "lock", unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, folderError(path+"/lock", err)
	}
	file := os.NewFile(uintptr(descriptor), path+"/lock")
	if err := j.take(ctx, file); err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}

func (j journal) take(ctx context.Context, file *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, j.patience)
	defer cancel()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return sign(file)
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return folderError(file.Name(), err)
		}
		select {
		case <-ctx.Done():
			if ctx.Err() == context.Canceled {
				return ctx.Err()
			}
			holder, _ := io.ReadAll(io.NewSectionReader(file, 0, 100))
			return refused("wait for it, or stop it", "%s: %s has been changing this host's knobs for more than %s",
				file.Name(), strings.TrimSpace(string(holder)), j.patience)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// sign says who holds the lock.
func sign(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return folderError(file.Name(), err)
	}
	if _, err := file.WriteAt(fmt.Appendf(nil, "process %d\n", os.Getpid()), 0); err != nil {
		return folderError(file.Name(), err)
	}
	return nil
}
