package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFramesComeAsTheyWereWritten(t *testing.T) {
	var text bytes.Buffer
	writer := Writer{out: &text}
	large := bytes.Repeat([]byte("\n{}"), MostPayloadBytes/3)
	for id, payload := range [][]byte{nil, []byte("raw\n{\"id\":1}\n"), large} {
		number := int64(id)
		if err := writer.Write(reply{ID: &number, OK: "x", Bytes: len(payload)}, payload); err != nil {
			t.Fatal(err)
		}
	}
	reader := NewReader(iotest.HalfReader(&text))
	for id, payload := range [][]byte{nil, []byte("raw\n{\"id\":1}\n"), large} {
		frame, err := reader.Next()
		if err != nil || frame.ID != int64(id) || !bytes.Equal(frame.Payload, payload) {
			t.Errorf("%d: id %d, %d bytes, %v", id, frame.ID, len(frame.Payload), err)
		}
	}
	if _, err := reader.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestTheLongestLine(t *testing.T) {
	line := func(length int) string { return `{"id":1,"x":"` + strings.Repeat("a", length-15-1) + "\"}\n" }
	frame, err := NewReader(strings.NewReader(line(MostLineBytes))).Next()
	if err != nil || len(frame.Line) != MostLineBytes-1 {
		t.Errorf("%d bytes, %v", len(frame.Line), err)
	}
	_, err = NewReader(strings.NewReader(line(MostLineBytes + 1))).Next()
	if !errors.Is(err, errFrame) || err.Error() != "not a frame: a line of more than 1048576 bytes" {
		t.Errorf("got %v", err)
	}
	writer := Writer{out: io.Discard}
	if err := writer.Write(strings.Repeat("a", MostLineBytes), nil); err != errTooLong {
		t.Errorf("written: %v", err)
	}
}

func TestWhatIsNoFrame(t *testing.T) {
	for text, want := range map[string]string{
		"\n":                             `not a frame: "": unexpected end of JSON input`,
		"hello\n":                        `not a frame: "hello": invalid character 'h' looking for beginning of value`,
		"{\"verb\":\"x\"}\n":             `not a frame: "{\"verb\":\"x\"}" has no id that is 0 or more`,
		"{\"id\":-1}\n":                  `not a frame: "{\"id\":-1}" has no id that is 0 or more`,
		"{\"id\":7,\"bytes\":-1}\n":      `not a frame: -1 bytes after request 7, at most 4194304`,
		"{\"id\":7,\"bytes\":4194305}\n": `not a frame: 4194305 bytes after request 7, at most 4194304`,
	} {
		if _, err := NewReader(strings.NewReader(text)).Next(); !errors.Is(err, errFrame) || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, cut := range []string{`{"id":7`, "{\"id\":7,\"bytes\":3}\n", "{\"id\":7,\"bytes\":3}\nab"} {
		if _, err := NewReader(strings.NewReader(cut)).Next(); err != io.ErrUnexpectedEOF {
			t.Errorf("%q: %v", cut, err)
		}
	}
}

// Whatever comes in, there are frames that were really there, or an error.
func FuzzReader(f *testing.F) {
	f.Add([]byte("{\"id\":1,\"verb\":\"run\",\"args\":{}}\n{\"id\":2,\"bytes\":3}\nabc{\"id\":3}\n"))
	f.Add([]byte("{\"id\":1,\"bytes\":9}\nabc"))
	f.Add([]byte("{\"id\":9223372036854775808}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		reader, read := NewReader(bytes.NewReader(text)), 0
		for {
			frame, err := reader.Next()
			if err != nil {
				return
			}
			here := text[read : read+len(frame.Line)]
			payload := text[read+len(frame.Line)+1:][:len(frame.Payload)]
			read += len(frame.Line) + 1 + len(frame.Payload)
			if !bytes.Equal(here, frame.Line) || !bytes.Equal(payload, frame.Payload) || !json.Valid(frame.Line) || frame.ID < 0 {
				t.Errorf("frame %d %q %q", frame.ID, frame.Line, frame.Payload)
			}
		}
	})
}
