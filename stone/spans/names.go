package spans

import (
	"bytes"
	"unicode/utf8"
)

const (
	mostNameBytes = 1 << 10  // longest name; the rest is cut off
	mostNames     = 16 << 20 // bytes of all names of a trial: a service that puts ids into names must not fill the memory

	noName    = uint32(0) // ""
	otherName = uint32(1)

	// Others stands for names that came after there were too many.
	Others = "(too many names)"
)

// names gives each text of a trial a number, in the order in which they come.
type names struct {
	number map[string]uint32
	text   []string
	bytes  int
}

func newNames() *names {
	return &names{number: map[string]uint32{"": noName, Others: otherName}, text: []string{"", Others}}
}

// of returns the number of a text. It makes a string only of one that is new.
func (n *names) of(text []byte) uint32 {
	text = text[:min(len(text), mostNameBytes)]
	if number, known := n.number[string(text)]; known {
		return number
	}
	if !utf8.Valid(text) {
		return n.of(bytes.ToValidUTF8(text, []byte("?")))
	}
	if n.bytes > mostNames {
		return otherName
	}
	number, name := uint32(len(n.text)), string(text)
	n.number[name] = number
	n.text = append(n.text, name)
	n.bytes += len(name) + 64 // and what the map needs
	return number
}
