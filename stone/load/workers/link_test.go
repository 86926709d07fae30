package workers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// pipe is one of the kernel's, as there is to the command of a worker: it takes much before anything is read.
func pipe() (reader, writer *os.File) {
	reader, writer, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	return reader, writer
}

// pair is two links that are connected.
func pair() (ours, theirs *link) {
	toThem, fromUs := pipe()
	toUs, fromThem := pipe()
	return newLink(toUs, fromUs), newLink(toThem, fromThem)
}

// nowhere is an end that takes everything.
type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }

// Whatever comes instead of a coordinator, a load worker ends with it, does not crash, and leaves no folder.
func FuzzCoordinator(f *testing.F) {
	f.Add([]byte(`{"kind":"ping"}` + "\n" + `{"kind":"plan","plan":{}}` + "\n"))
	f.Add([]byte(`{"kind":"file","name":"../../x","data":"eA=="}` + "\n" + `{"kind":"file","name":"y","data":"eA=="}` + "\n"))
	f.Add([]byte(`{"kind":"file","name":"..","data":""}` + "\n"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{0, '\n', '"', 0xff})
	f.Fuzz(func(t *testing.T, sent []byte) {
		t.Setenv("TMPDIR", t.TempDir())
		in := io.NopCloser(bytes.NewReader(sent))
		if err := Serve(context.Background(), in, nowhere{io.Discard}); err == nil {
			t.Errorf("%q was carried out", sent)
		}
		if left := entries(os.Getenv("TMPDIR")); len(left) > 0 {
			t.Errorf("%q: it has left %v", sent, left)
		}
	})
}

func TestSilence(t *testing.T) {
	t.Parallel()
	ours, theirs := pair()
	if _, err := ours.receive(time.Millisecond); err == nil || err.Error() != "lost: it has sent nothing for 1ms" {
		t.Errorf("%v", err)
	}
	theirs.close()
	for range 2 {
		if _, err := ours.receive(time.Minute); !errors.Is(err, errEnded) {
			t.Errorf("%v", err)
		}
	}
	ours.close()
	if err := ours.send(message{Kind: alive}); err == nil {
		t.Error("a closed link took a message")
	}
}

func TestALineThatIsTooLong(t *testing.T) {
	t.Parallel()
	endless := io.NopCloser(io.LimitReader(repeat('x'), longest+2))
	if _, err := newLink(endless, nowhere{io.Discard}).receive(time.Minute); !errors.Is(err, errLong) {
		t.Errorf("%v", err)
	}
}

// repeat is a byte without end.
type repeat byte

func (r repeat) Read(into []byte) (int, error) {
	return copy(into, strings.Repeat(string(rune(r)), len(into))), nil
}
