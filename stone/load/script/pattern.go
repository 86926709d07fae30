package script

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// matcher matches a Lua pattern (section 5.4.1 of the reference manual of Lua 5.1, and %f) by backtracking.
// gopher-lua's own knows no %f, gives up on long texts and cannot be interrupted.
type matcher struct {
	machine  *machine
	state    *lua.LState
	source   string
	pattern  string
	captures []span
	depth    int
	steps    int
}

// span is what a capture matched. Its end is open or a position while it is none.
type span struct{ start, end int }

const (
	unfinished = -1 // end of a capture whose ) is still to come
	position   = -2 // end of the capture (), which is a place

	maxNested   = 200 // as in LuaJIT
	maxCaptures = 32
)

func (m *machine) matcher(L *lua.LState, source, pattern string) *matcher {
	return &matcher{machine: m, state: L, source: source, pattern: pattern}
}

// at matches the whole pattern, without its ^, at a place of the source: the place after the match, or -1.
func (p *matcher) at(s, pattern int) int {
	p.captures, p.depth = p.captures[:0], 0
	return p.match(s, pattern)
}

func (p *matcher) fail(format string, values ...any) {
	p.state.RaiseError("%s", "the pattern "+fmt.Sprintf("%q ", shorten(p.pattern))+fmt.Sprintf(format, values...))
}

// match matches the pattern from an item on.
func (p *matcher) match(s, item int) int {
	if p.depth++; p.depth > maxNested {
		p.fail("is too complex")
	}
	defer func() { p.depth-- }()
	for item < len(p.pattern) {
		rest := p.pattern[item:]
		switch {
		case strings.HasPrefix(rest, "()"):
			return p.open(s, item+2, position)
		case rest[0] == '(':
			return p.open(s, item+1, unfinished)
		case rest[0] == ')':
			return p.close(s, item+1)
		case rest == "$":
			if s == len(p.source) {
				return s
			}
			return -1
		case strings.HasPrefix(rest, "%b"):
			if s = p.balanced(s, item+2); s < 0 {
				return -1
			}
			item += 4
			continue
		case strings.HasPrefix(rest, "%f"):
			end := p.classEnd(item + 2)
			if !p.frontier(s, item+2, end) {
				return -1
			}
			item = end
			continue
		case len(rest) > 1 && rest[0] == '%' && '0' <= rest[1] && rest[1] <= '9':
			again := p.captured(int(rest[1] - '1'))
			if !strings.HasPrefix(p.source[s:], again) {
				return -1
			}
			s, item = s+len(again), item+2
			continue
		}
		end := p.classEnd(item)
		suffix := byte(0)
		if end < len(p.pattern) {
			suffix = p.pattern[end]
		}
		switch suffix {
		case '*':
			return p.longest(s, item, end, 0)
		case '+':
			return p.longest(s, item, end, 1)
		case '-':
			return p.shortest(s, item, end)
		case '?':
			if p.single(s, item, end) {
				if after := p.match(s+1, end+1); after >= 0 {
					return after
				}
			}
			item = end + 1
		default:
			if !p.single(s, item, end) {
				return -1
			}
			s, item = s+1, end
		}
	}
	return s
}

// longest matches as many of a class as there are, then fewer.
func (p *matcher) longest(s, item, end, least int) int {
	n := 0
	for p.single(s+n, item, end) {
		n++
	}
	for ; n >= least; n-- {
		if after := p.match(s+n, end+1); after >= 0 {
			return after
		}
	}
	return -1
}

// shortest matches as few of a class as will do.
func (p *matcher) shortest(s, item, end int) int {
	for ; ; s++ {
		if after := p.match(s, end+1); after >= 0 {
			return after
		}
		if !p.single(s, item, end) {
			return -1
		}
	}
}

func (p *matcher) open(s, item, end int) int {
	if len(p.captures) == maxCaptures {
		p.fail("has more than %d captures", maxCaptures)
	}
	p.captures = append(p.captures, span{s, end})
	after := p.match(s, item)
	if after < 0 {
		p.captures = p.captures[:len(p.captures)-1]
	}
	return after
}

func (p *matcher) close(s, item int) int {
	for i := len(p.captures) - 1; i >= 0; i-- {
		if p.captures[i].end != unfinished {
			continue
		}
		p.captures[i].end = s
		after := p.match(s, item)
		if after < 0 {
			p.captures[i].end = unfinished
		}
		return after
	}
	p.fail("has a ) without a (")
	return -1
}

// balanced matches %bxy: from an x to the y that belongs to it.
func (p *matcher) balanced(s, item int) int {
	if item+1 >= len(p.pattern) {
		p.fail("ends within %%b")
	}
	opening, closing := p.pattern[item], p.pattern[item+1]
	if s >= len(p.source) || p.source[s] != opening {
		return -1
	}
	for depth := 1; ; {
		if s++; s == len(p.source) {
			return -1
		}
		p.step()
		switch p.source[s] {
		case closing:
			if depth--; depth == 0 {
				return s + 1
			}
		case opening:
			depth++
		}
	}
}

// frontier matches %f[set]: a place where the set begins to hold. Before the first and after the last byte is \0.
func (p *matcher) frontier(s, item, end int) bool {
	if item >= len(p.pattern) || p.pattern[item] != '[' {
		p.fail("lacks a [set] after %%f")
	}
	at := func(i int) byte {
		if i < 0 || i >= len(p.source) {
			return 0
		}
		return p.source[i]
	}
	return !p.inSet(at(s-1), item, end) && p.inSet(at(s), item, end)
}

// captured is the text of a finished capture.
func (p *matcher) captured(i int) string {
	if i < 0 || i >= len(p.captures) || p.captures[i].end < 0 {
		p.fail("refers to capture %%%d, which is none", i+1)
	}
	return p.source[p.captures[i].start:p.captures[i].end]
}

// classEnd is the place after the class that begins at an item.
func (p *matcher) classEnd(item int) int {
	switch {
	case item >= len(p.pattern):
		p.fail("ends too early")
	case p.pattern[item] == '%':
		if item+1 == len(p.pattern) {
			p.fail("ends with %%")
		}
		return item + 2
	case p.pattern[item] == '[':
		at := item + 1
		if strings.HasPrefix(p.pattern[at:], "^") {
			at++
		}
		for first := at; ; at++ { // a ] that comes first is one of the set
			switch {
			case at >= len(p.pattern):
				p.fail("lacks a ]")
			case p.pattern[at] == '%':
				at++
			case p.pattern[at] == ']' && at > first:
				return at + 1
			}
		}
	}
	return item + 1
}

// single says whether the byte at s is of a class.
func (p *matcher) single(s, item, end int) bool {
	p.step()
	if s >= len(p.source) {
		return false
	}
	c := p.source[s]
	switch p.pattern[item] {
	case '.':
		return true
	case '%':
		return inClass(c, p.pattern[item+1])
	case '[':
		return p.inSet(c, item, end)
	}
	return p.pattern[item] == c
}

// inSet says whether a byte is of the set from [ at item to ] before end.
func (p *matcher) inSet(c byte, item, end int) bool {
	set, found := p.pattern[item+1:end-1], true
	if strings.HasPrefix(set, "^") {
		set, found = set[1:], false
	}
	for at := 0; at < len(set); at++ {
		switch {
		case set[at] == '%' && at+1 < len(set):
			at++
			if inClass(c, set[at]) {
				return found
			}
		case at+2 < len(set) && set[at+1] == '-':
			if set[at] <= c && c <= set[at+2] {
				return found
			}
			at += 2
		case set[at] == c:
			return found
		}
	}
	return !found
}

// inClass says whether a byte is of %a, %d and so on; a capital letter means all others.
func inClass(c, class byte) bool {
	lower, letter := 'a' <= c && c <= 'z', 'a' <= c|0x20 && c|0x20 <= 'z'
	digit, graphic := '0' <= c && c <= '9', ' ' < c && c < 0x7f
	is := false
	switch class | 0x20 {
	case 'a':
		is = letter
	case 'c':
		is = c < ' ' || c == 0x7f
	case 'd':
		is = digit
	case 'g':
		is = graphic
	case 'l':
		is = lower
	case 'p':
		is = graphic && !letter && !digit
	case 's':
		is = c == ' ' || '\t' <= c && c <= '\r'
	case 'u':
		is = letter && !lower
	case 'w':
		is = letter || digit
	case 'x':
		is = digit || 'a' <= c|0x20 && c|0x20 <= 'f'
	case 'z':
		is = c == 0
	default:
		return class == c
	}
	capital := 'A' <= class && class <= 'Z'
	return is != capital
}

// step counts, and looks at the clock now and then: a pattern may take for ever.
func (p *matcher) step() {
	if p.steps++; p.steps&0xfff == 0 && p.machine.watch.look() != nil {
		p.state.RaiseError("%s", p.machine.watch.Err())
	}
}
