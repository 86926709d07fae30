package workers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const piece = 256 << 10 // bytes of a piece of a file

// sendFile sends a file under a name, piece by piece; the last one is empty.
func sendFile(l *link, path, name string) error {
	content, err := os.Open(path)
	if err != nil {
		return err
	}
	defer content.Close()
	buffer := make([]byte, piece)
	for {
		n, err := io.ReadFull(content, buffer)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if err := l.send(message{Kind: file, Name: name, Data: buffer[:n]}); err != nil || n == 0 {
			return err
		}
	}
}

// inbox puts the files that come over a link where `place` says, one after the other.
type inbox struct {
	place func(name string) (path string, err error)
	open  *os.File
	name  string // name of the open file
}

// keep writes a piece. The first one opens its file, an empty one closes it.
func (b *inbox) keep(name string, data []byte) error {
	if b.open == nil {
		path, err := b.place(name)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if b.open, err = os.Create(path); err != nil {
			return err
		}
		b.name = name
	}
	if name != b.name {
		return fmt.Errorf("it sent a piece of %q within %q; use one version of stone", name, b.name)
	}
	if len(data) == 0 {
		closing := b.open
		b.open = nil
		return closing.Close()
	}
	_, err := b.open.Write(data)
	return err
}

// close gives up a file that has not ended.
func (b *inbox) close() {
	if b.open != nil {
		_ = b.open.Close()
	}
}
