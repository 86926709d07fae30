package load

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The faults that a load generator meets in the field, with real sockets: each must end with the right counts and the
// right words. TestServersThatMisbehave has those of servers that answer wrongly.

// fullPipe is a pipe of 4 KB in which nothing has room any more.
func fullPipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = reader.Close(), writer.Close() })
	size, err := unix.FcntlInt(writer.Fd(), unix.F_SETPIPE_SZ, 4096) // Fd makes it block, as standard error does
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write([]byte(strings.Repeat("-", size-1) + "\n")); err != nil {
		t.Fatal(err)
	}
	return reader, writer
}

// Nobody reads the progress: the load goes on to its end, and the run with it.
func TestProgressThatNobodyReads(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	_, writer := fullPipe(t)
	ended := make(chan *Summary)
	go func() {
		summary, err := Run(context.Background(), s.plan(t, map[string]any{"arrival": rate("constant", 100), "duration_s": 1.5}),
			filepath.Join(t.TempDir(), "out"), writer)
		if err != nil {
			t.Error(err)
		}
		ended <- summary
	}()
	select {
	case summary := <-ended:
		if c := summary.Counts; c.Completed != 150 {
			t.Errorf("%+v", c)
		}
	case <-time.After(time.Minute):
		t.Fatal("the run hangs past its end")
	}
}

// A feed holds up nobody: it drops what is not read, and passes on what is.
func TestFeed(t *testing.T) {
	t.Parallel()
	reader, writer := fullPipe(t)
	feed := NewFeed(writer)
	for range 100 * feedLines {
		if n, err := feed.Write([]byte("dropped\n")); n != 8 || err != nil {
			t.Fatalf("%d %v", n, err)
		}
	}
	feed.Close()
	_ = reader.Close() // the reader goes: what waits in Write gets an error
	<-feed.ended

	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	feed = NewFeed(writer)
	line, _ := json.Marshal("read")
	_, _ = feed.Write(line)
	feed.Close()
	_ = writer.Close()
	read := make([]byte, 100)
	if n, err := reader.Read(read); err != nil || string(read[:n]) != string(line) {
		t.Errorf("%q %v", read[:n], err)
	}
}
