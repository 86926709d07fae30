package tuning

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestADamagedJournalIsNamed(t *testing.T) {
	for _, text := range []string{"", "{", `{"version": 2}`, `{"version": 1, "extra": 1}`} {
		b := newBed(t, vm())
		must(os.Mkdir(b.state, 0o755))
		put(t, filepath.Join(b.state, journalName), text)
		_, err := b.Restore(context.Background())
		found := b.asError(err)
		if !strings.Contains(found.Message, "tuning.json: not a readable journal of this host's tuning: it is damaged") ||
			!strings.Contains(found.Remedy, "restart the machine") {
			t.Errorf("%q: %+v", text, found)
		}
	}
}

func TestWithoutRoomForTheJournalNothingIsChanged(t *testing.T) {
	b := newBed(t, intel())
	put(t, b.state, "a file")
	before := b.files()
	if found := b.refusal(whole()); found.Message != b.state+": cannot be used: not a directory" {
		t.Error(found)
	}
	same(t, "refused", b.files(), before)
}

// full is a disk on which a call fails.
type full struct {
	calls
	failing string
}

func (f full) fail(call string) error {
	if call == f.failing {
		return unix.ENOSPC
	}
	return nil
}

func (f full) openat(folder int, name string, flags int, mode uint32) (int, error) {
	if err := f.fail("openat"); err != nil {
		return -1, err
	}
	return f.calls.openat(folder, name, flags, mode)
}

func (f full) fsync(descriptor int) error {
	return errors.Join(f.fail("fsync"), f.calls.fsync(descriptor))
}

func (f full) renameat(folder int, from, to string) error {
	if err := f.fail("renameat"); err != nil {
		return err
	}
	return f.calls.renameat(folder, from, to)
}

func TestWhenTheDiskIsFullNothingIsChangedAndNothingIsLeft(t *testing.T) {
	for _, failing := range []string{"openat", "fsync", "renameat"} {
		b := newBed(t, intel())
		b.journal.system = full{failing: failing}
		before := b.files()
		found := b.refusal(whole())
		if !strings.Contains(found.Message, "cannot be written down, so none is changed: no space left on device") {
			t.Errorf("%s: %+v", failing, found)
		}
		same(t, failing, b.files(), before)
		left, err := os.ReadDir(b.state)
		if err != nil || len(left) != 1 || left[0].Name() != lockFolder {
			t.Errorf("%s: %v, %v", failing, left, err)
		}
	}
}

func TestTheLockIsForItsOwnerAlone(t *testing.T) {
	b := newBed(t, vm())
	b.tune(Tuning{THP: "never"})
	for name, wanted := range map[string]os.FileMode{"tuning": 0o700, "tuning/lock": 0o600, "tuning.json": 0o644} {
		found, err := os.Stat(filepath.Join(b.state, name))
		if err != nil || found.Mode().Perm() != wanted {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

func TestNoLinkIsFollowed(t *testing.T) {
	elsewhere := t.TempDir()
	put(t, filepath.Join(elsewhere, "victim"), "as it was")
	for _, name := range []string{"tuning", "tuning/lock", "tuning.json", ".tuning.json.new"} {
		b := newBed(t, vm())
		must(os.MkdirAll(filepath.Dir(filepath.Join(b.state, name)), 0o755))
		target := elsewhere
		if name != "tuning" {
			target = filepath.Join(elsewhere, "victim")
		}
		must(os.Symlink(target, filepath.Join(b.state, name)))
		_, err := b.Tune(context.Background(), Tuning{THP: "never"}, "", func(string) {})
		if (err != nil) == (name == ".tuning.json.new") { // that one is replaced
			t.Errorf("%s: %v", name, err)
		}
		if text, _ := os.ReadFile(filepath.Join(elsewhere, "victim")); string(text) != "as it was\n" {
			t.Errorf("%s: the link was followed", name)
		}
		if left, _ := os.ReadDir(elsewhere); len(left) != 1 {
			t.Errorf("%s: the link was followed: %v", name, left)
		}
	}
	b := newBed(t, vm())
	must(os.Symlink(elsewhere, b.state))
	if found := b.refusal(Tuning{THP: "never"}); !strings.Contains(found.Message, b.state+": cannot be used") {
		t.Error(found)
	}
}

func TestAFolderInWhichOthersMayWriteIsNotUsed(t *testing.T) {
	b := newBed(t, vm())
	must(os.Mkdir(b.state, 0o755))
	must(os.Chmod(b.state, 0o777))
	if found := b.refusal(Tuning{THP: "never"}); !strings.Contains(found.Message, "others may write in it") {
		t.Error(found)
	}
	if os.Geteuid() == 0 {
		must(os.Chmod(b.state, 0o755))
		must(os.Chown(b.state, 12345, 12345))
		if found := b.refusal(Tuning{THP: "never"}); !strings.Contains(found.Message, "belongs to user 12345") {
			t.Error(found)
		}
	}
}

func TestTheLockIsWaitedForButNotForEver(t *testing.T) {
	b := newBed(t, vm())
	unlock, err := b.journal.lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b.journal.patience = 50 * time.Millisecond
	found := b.refusal(Tuning{THP: "never"})
	wanted := fmt.Sprintf("tuning/lock: process %d has been changing this host's knobs for more than 50ms", os.Getpid())
	if found.Kind != Refused || !strings.Contains(found.Message, wanted) {
		t.Errorf("%+v", found)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Tune(ctx, Tuning{THP: "never"}, "", func(string) {}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	b.journal.patience = time.Minute
	time.AfterFunc(50*time.Millisecond, unlock)
	b.tune(Tuning{THP: "never"})
}
