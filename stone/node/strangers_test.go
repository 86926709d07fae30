package node

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A port's lock file was made beforehand by a stranger, as a FIFO, in the folder that every user could write in.
func TestAStrangerHoldsNoPortBack(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	folder, err := portsFolder()
	if err != nil {
		t.Fatal(err)
	}
	found, err := os.Lstat(folder)
	if err != nil || found.Mode().Perm()&0o077 != 0 {
		t.Errorf("%s: %v, %v: others can enter it", folder, found.Mode(), err)
	}
	const port = 20_001
	path := filepath.Join(folder, strconv.Itoa(port))
	_ = os.Remove(path)
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	done := make(chan error, 1)
	go func() {
		file, err := lockPort(port)
		if err == nil {
			err = file.Close()
		}
		done <- err
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("the FIFO is waited for")
	}
	if os.Geteuid() != 0 {
		if err := os.Chmod(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := portsFolder(); err == nil || !strings.Contains(err.Error(), "is not a folder of user") {
			t.Error(err)
		}
	}
}

// No other user can lock what a node locks; the process that holds a lock is named after a while.
func TestALockThatIsHeldNamesItsHolder(t *testing.T) {
	defer func(was time.Duration) { lockWithin = was }(lockWithin)
	lockWithin = 200 * time.Millisecond
	folder := filepath.Join(t.TempDir(), "deployments")
	if err := makeFolder(folder); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		for parent := folder; len(parent) > len(os.TempDir()); parent = filepath.Dir(parent) {
			_ = os.Chmod(parent, 0o711)
		}
		command := exec.Command("flock", "--nonblock", folder, "true")
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if text, err := command.CombinedOutput(); err == nil || !strings.Contains(string(text), "Permission denied") {
			t.Errorf("a stranger locks it: %s, %v", text, err)
		}
	}
	holding := exec.Command("flock", "--no-fork", folder, "sleep", "60")
	if err := holding.Start(); err != nil {
		t.Skip("needs flock(1): ", err)
	}
	defer func() { _ = holding.Process.Kill(); _ = holding.Wait() }()
	eventually(t, "the lock is held", func() bool {
		unlock, err := lock(context.Background(), folder, unix.LOCK_EX)
		if err == nil {
			unlock()
			return false
		}
		return strings.Contains(err.Error(), "is locked by process "+strconv.Itoa(holding.Process.Pid)+" (")
	})
}

// A password is in files that a node writes; a link that a replica's user has put in a file's place is not followed.
func TestFilesOfAProcessAreForItsUserAlone(t *testing.T) {
	state, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	c := startNode(t, state)
	begun := deploy(t, c, state, "hotel")
	for parent := begun.Folder; len(parent) > len(os.TempDir()); parent = filepath.Dir(parent) {
		_ = os.Chmod(parent, 0o711)
	}
	if err := os.WriteFile(outside, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(begun.Folder, "key")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(begun.Folder, "conf")); err != nil {
		t.Fatal(err)
	}
	spawn := m{"deployment": "hotel", "name": "x", "argv": []string{"cat", "key"}, "user": begun.User, "folder": begun.Folder}
	spawn["files"] = m{"key": "secret"}
	c.must("spawn", spawn, nil)
	eventually(t, "its user reads it", func() bool {
		return string(c.must("log", m{"deployment": "hotel", "name": "x", "lines": 1, "most_bytes": 100}, nil)) == "secret"
	})
	found, err := os.Lstat(filepath.Join(begun.Folder, "key"))
	if err != nil || found.Mode() != 0o600 {
		t.Errorf("%v, %v", found.Mode(), err)
	}
	spawn["name"], spawn["files"] = "y", m{"conf/outside": "secret"}
	c.fails("spawn", spawn, Failed, "escapes")
	if text, err := os.ReadFile(outside); string(text) != "before" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
