package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestALineOfStat(t *testing.T) {
	line := "42 (a (b) c) R 7 40 39 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 1559218 2000 100"
	stat, err := Parse(line)
	if want := (Stat{42, 'R', 7, 40, 39, 3, 1559218}); stat != want || err != nil {
		t.Errorf("%+v, %v", stat, err)
	}
	for _, wrong := range []string{"", "42", "42 (a", "42 (a) R", "x (a) R 7 40 39 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 1559218"} {
		if stat, err := Parse(wrong); err == nil {
			t.Errorf("%q: %+v", wrong, stat)
		}
	}
}

// Whatever a process is called, its line is read as it was written.
func FuzzParse(f *testing.F) {
	f.Add(42, "a (b) c", 7, uint64(1559218))
	f.Fuzz(func(t *testing.T, pid int, name string, group int, started uint64) {
		line := fmt.Sprintf("%d (%s) S 1 %d 2 0 -1 0 1 0 0 0 0 0 0 0 20 0 3 0 %d 2000 100\n", pid, name, group, started)
		if stat, err := Parse(line); err != nil || stat != (Stat{pid, 'S', 1, group, 2, 3, started}) {
			t.Errorf("%q: %+v, %v", line, stat, err)
		}
		_, _ = Parse(name) // anything
	})
}

func TestAProcessIsOpenedOnlyIfItIsTheSame(t *testing.T) {
	sleeper := exec.Command("sleep", "1000")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	stat, err := Read(sleeper.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	other := stat
	other.Started++
	if _, err := Open(other); err != unix.ESRCH {
		t.Errorf("a later one: %v", err)
	}
	handle, err := Open(stat)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	if handle.Wait(time.Millisecond) {
		t.Error("it has ended")
	}
	if err := handle.Signal(unix.SIGTERM); err != nil || !handle.Wait(time.Minute) {
		t.Errorf("it has not ended: %v", err)
	}
	if _, err := Open(stat); err != unix.ESRCH {
		t.Errorf("a zombie: %v", err)
	}
	_ = sleeper.Wait()
	if err := handle.Signal(unix.SIGTERM); err != nil {
		t.Errorf("gone: %v", err)
	}
}

// The kin of a process are killed, also those in a session of their own and those whose parent has ended.
func TestAFamily(t *testing.T) {
	command := exec.Command("sh", "-c", "(sleep 1000 & echo $!) ; setsid sleep 1000 & echo $!; sleep 1000")
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(out); len(pids) < 2 && lines.Scan(); {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	stat, err := Read(command.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if seen, left := Family(stat); len(seen) < 3 || len(left) != 0 {
		t.Errorf("seen %v, left %v", seen, left)
	}
	_ = command.Wait()
	for _, pid := range pids {
		if stat, err := Read(pid); err == nil && stat.Alive() {
			t.Errorf("process %d is left", pid)
		}
	}
	if stat, err := Read(os.Getpid()); err != nil || !stat.Alive() {
		t.Errorf("ourselves: %+v, %v", stat, err)
	}
}
