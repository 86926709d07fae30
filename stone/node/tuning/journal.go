package tuning

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Folder is where a host keeps its journal: one place for all users, $LOADSTONE_HOST_STATE or /var/lib/loadstone.
func Folder() string {
	if folder := os.Getenv("LOADSTONE_HOST_STATE"); folder != "" {
		return folder
	}
	return "/var/lib/loadstone"
}

const (
	journalName = "tuning.json"
	newName     = ".tuning.json.new"
)

// journal is what a host's knobs were before they were set. The whole snapshot is on the disk before the first change,
// and is removed after the last value was seen to be back. Everybody may read it.
type journal struct {
	folder   string
	system   system
	patience time.Duration // how long to wait for others' lock
}

// entry is a host that is tuned.
type entry struct {
	Version int     `json:"version"`
	Boot    string  `json:"boot"` // boot ID of the kernel with these values: a restart brings back its own
	Owner   Owner   `json:"owner"`
	Tuning  Tuning  `json:"tuning"`
	Values  []known `json:"values"`
}

// known is one value, by the knob that it belongs to.
type known struct {
	Knob   string `json:"knob"`
	File   string `json:"file"`
	Before string `json:"before"`
}

func (e *entry) before(file string) (string, bool) {
	for _, value := range e.Values {
		if value.File == file {
			return value.Before, true
		}
	}
	return "", false
}

// load is the host's journal; nil where nothing is tuned, or only others may look.
func (j journal) load() (*entry, error) {
	folder, err := unix.Open(j.folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, j.unreadable(err)
	}
	defer unix.Close(folder)
	descriptor, err := calls{}.openat(folder, journalName, unix.O_RDONLY, 0)
	if err != nil {
		return nil, j.unreadable(err)
	}
	file := os.NewFile(uintptr(descriptor), j.path())
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, j.unreadable(err)
	}
	if err := ours(j.folder, folder); err != nil {
		return nil, err
	}
	var found entry
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&found); err != nil || found.Version != 1 {
		return nil, j.unreadable(errors.New("it is damaged"))
	}
	return &found, nil
}

// unreadable is nil where there is no journal. A user who may not read it may not tune either, and has nothing to restore.
func (j journal) unreadable(err error) error {
	absent := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
	if absent || (errors.Is(err, unix.EACCES) && os.Geteuid() != 0) {
		return nil
	}
	return &Error{
		Failed, j.path() + ": not a readable journal of this host's tuning: " + reason(err),
		"restart the machine, which sets all knobs back, then delete the file",
	}
}

// save writes it to the disk, whole or not at all, before anything that it speaks of is done.
func (j journal) save(e *entry) error {
	text, err := json.MarshalIndent(e, "", " ")
	if err == nil {
		err = j.inFolder(func(folder int) error { return j.replace(folder, text) })
	}
	if err != nil {
		return &Error{
			Failed, j.folder + ": the host's values cannot be written down, so none is changed: " + reason(err),
			"tuning needs root and a little room on the disk",
		}
	}
	return nil
}

func (j journal) replace(folder int, text []byte) error {
	unix.Unlinkat(folder, newName, 0) // that of a process that was killed
	descriptor, err := j.system.openat(folder, newName, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(descriptor), newName)
	defer file.Close()
	if _, err = file.Write(text); err == nil {
		err = j.system.fsync(descriptor)
	}
	if err == nil {
		err = j.system.renameat(folder, newName, journalName)
	}
	if err != nil {
		unix.Unlinkat(folder, newName, 0)
		return err
	}
	return j.system.fsync(folder)
}

// remove: nothing is tuned any more.
func (j journal) remove() error {
	err := j.inFolder(func(folder int) error {
		if err := j.system.unlinkat(folder, journalName); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
		return j.system.fsync(folder)
	})
	if err != nil {
		return &Error{Failed, j.path() + ": cannot be removed: " + reason(err), "use sudo"}
	}
	return nil
}

func (j journal) inFolder(work func(folder int) error) error {
	folder, err := openFolder(j.folder)
	if err != nil {
		return err
	}
	defer unix.Close(folder)
	return work(folder)
}

func (j journal) path() string { return filepath.Join(j.folder, journalName) }
