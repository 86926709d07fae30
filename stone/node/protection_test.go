package node

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func TestProtection(t *testing.T) {
	file := filepath.Join(t.TempDir(), "oom_score_adj")
	score := func() string { text, _ := os.ReadFile(file); return string(bytes.TrimSpace(text)) }
	for _, before := range []string{"0", "200", "-900", "-1000"} {
		if err := os.WriteFile(file, []byte(before+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		protected := "-900"
		if before == "-1000" { // lower already
			protected = before
		}
		p := protect(file)
		at := []string{score()}
		p.lift()
		at = append(at, score())
		p.set()
		if at = append(at, score()); !slices.Equal(at, []string{protected, before, protected}) {
			t.Errorf("from %s: %v", before, at)
		}
	}
	absent := filepath.Join(t.TempDir(), "none")
	p := protect(absent)
	p.lift()
	if _, err := os.Stat(absent); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a kernel without the file: %v", err)
	}
}

// A node is the last process that the kernel kills when memory runs out, where it may be; what it starts is not.
func TestAProtectedNode(t *testing.T) {
	capabilities, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	effective := regexp.MustCompile(`(?m)^CapEff:\t([0-9a-f]+)$`).FindSubmatch(capabilities)
	bits, err := strconv.ParseUint(string(effective[1]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	c := startNode(t, state)
	deploy(t, c, state, "hotel")
	for range 3 { // protected again after each
		of := fmt.Sprintf("/proc/%d/oom_score_adj", c.command.Process.Pid)
		out := c.must("run", m{"argv": []string{"cat", "/proc/self/oom_score_adj"}, "timeout_s": 30}, nil)
		if !bytes.Equal(out, ours) {
			t.Errorf("a command has %q, want %q", out, ours)
		}
		if bits&(1<<unix.CAP_SYS_RESOURCE) == 0 {
			continue
		}
		eventually(t, "the node is protected", func() bool { score, _ := os.ReadFile(of); return string(score) == "-900\n" })
	}
	c.must("spawn", m{"deployment": "hotel", "name": "a", "argv": []string{"cat", "/proc/self/oom_score_adj"}, "folder": "/"}, nil)
	eventually(t, "a spawned process has the score of this test", func() bool {
		return bytes.Equal(c.must("log", m{"deployment": "hotel", "name": "a", "lines": 5, "most_bytes": 1000}, nil), ours)
	})
}
