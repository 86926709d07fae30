package node

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	// MostLineBytes is the longest line of JSON in a frame, its newline included.
	MostLineBytes = 1 << 20
	// MostPayloadBytes can follow a line.
	MostPayloadBytes = 4 << 20
)

// Frame is a line of JSON and the raw bytes that follow it. ID and Bytes were read from the line.
type Frame struct {
	ID      int64
	Line    []byte
	Payload []byte
}

// errFrame is wrapped by the errors of a peer that does not keep to the protocol. Where the next frame begins is unknown
// then, so the channel ends.
var errFrame = errors.New("not a frame")

// Reader reads frames.
type Reader struct{ in *bufio.Reader }

// NewReader reads frames from in.
func NewReader(in io.Reader) *Reader { return &Reader{bufio.NewReaderSize(in, 64<<10)} }

// Next reads a frame. io.EOF ends the channel between two frames, io.ErrUnexpectedEOF within one.
func (r *Reader) Next() (Frame, error) {
	line, err := r.line()
	if err != nil {
		return Frame{}, err
	}
	head := struct {
		ID    *int64 `json:"id"`
		Bytes int64  `json:"bytes"`
	}{}
	switch err := json.Unmarshal(line, &head); {
	case err != nil:
		return Frame{}, fmt.Errorf("%w: %.80q: %w", errFrame, line, err)
	case head.ID == nil || *head.ID < 0:
		return Frame{}, fmt.Errorf("%w: %.80q has no id that is 0 or more", errFrame, line)
	case head.Bytes < 0 || head.Bytes > MostPayloadBytes:
		return Frame{}, fmt.Errorf("%w: %d bytes after request %d, at most %d", errFrame, head.Bytes, *head.ID, MostPayloadBytes)
	}
	frame := Frame{ID: *head.ID, Line: line}
	if head.Bytes > 0 {
		frame.Payload = make([]byte, head.Bytes)
		if _, err := io.ReadFull(r.in, frame.Payload); err != nil {
			return Frame{}, unexpected(err)
		}
	}
	return frame, nil
}

// line reads up to a newline, which is cut off. It never holds more than MostLineBytes.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > MostLineBytes {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", errFrame, MostLineBytes)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(line) > 0:
			return nil, unexpected(err)
		default:
			return nil, err
		}
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Writer writes frames, each whole. Safe for concurrent use.
type Writer struct {
	mu  sync.Mutex
	out io.Writer
	// broken is the first error of the output, after which nothing is written; then is called with it, if there is one.
	broken error
	then   func()
}

// errTooLong: the line of a frame would be longer than MostLineBytes; nothing of it was written.
var errTooLong = errors.New("the answer is longer than a frame's line may be")

// Write writes a value as the line of a frame, and its payload. A value has a member "bytes" where a payload follows.
func (w *Writer) Write(value any, payload []byte) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if len(line) > MostLineBytes || len(payload) > MostPayloadBytes {
		return errTooLong
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, part := range [][]byte{line, payload} {
		if w.broken == nil && len(part) > 0 {
			if _, w.broken = w.out.Write(part); w.broken != nil && w.then != nil {
				w.then()
			}
		}
	}
	return w.broken
}
