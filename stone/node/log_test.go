package node

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheLastLinesOfAFile(t *testing.T) {
	for _, example := range []struct {
		text        string
		lines, most int
		want        string
		truncated   bool
	}{
		{"", 3, 100, "", false},
		{"a", 3, 100, "a", false},
		{"a\nb\nc\n", 2, 100, "b\nc\n", false},
		{"a\nb\nc", 2, 100, "b\nc", false},
		{"a\nb\nc\n", 3, 100, "a\nb\nc\n", false},
		{"a\nb\nc\n", 3, 3, "\nc\n", true},
		{"\n\n\n", 2, 100, "\n\n", false},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(example.text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		text, truncated, err := lastLines(file, example.lines, example.most)
		if string(text) != example.want || truncated != example.truncated || err != nil {
			t.Errorf("%+v: %q, %v, %v", example, text, truncated, err)
		}
		_ = file.Close()
	}
}

// The disk below the beginning of a log is freed; who writes into it goes on where it was.
func TestALongLogIsTrimmed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(bytes.Repeat([]byte("line of a log\n"), 300_000)); err != nil { // 4.2 MB
		t.Fatal(err)
	}
	_ = file.Sync()
	trimLog(path, 1<<20)
	_, _ = file.WriteString("last\n")
	used, size := disk(t, path)
	if used > 2<<20 {
		t.Skipf("this file system frees nothing: %d bytes", used)
	}
	if size != 14*300_000+5 || used < 1<<20 {
		t.Errorf("%d bytes, on %d of disk", size, used)
	}
	text, err := os.ReadFile(path)
	if err != nil || !bytes.HasSuffix(text, []byte("line of a log\nlast\n")) || bytes.Count(text, []byte("\n")) < 1<<20/14 {
		t.Errorf("%d lines, %v", bytes.Count(text, []byte("\n")), err)
	}
}

// disk is how much of it a file takes, and the file's size.
func disk(t *testing.T, path string) (used, size int64) {
	t.Helper()
	stat := unix.Stat_t{}
	if err := unix.Stat(path, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Blocks * 512, stat.Size
}
