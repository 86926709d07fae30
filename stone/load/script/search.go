package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// find is string.find(s, pattern, from, plain): where, and the captures.
func (m *machine) find(L *lua.LState) int {
	s, pattern := L.CheckString(1), L.CheckString(2)
	from := start(L, s)
	if L.ToBool(4) || !strings.ContainsAny(pattern, "^$*+?.([%-") {
		at := strings.Index(s[from:], pattern)
		if at < 0 {
			L.Push(lua.LNil)
			return 1
		}
		L.Push(lua.LNumber(from + at + 1))
		L.Push(lua.LNumber(from + at + len(pattern)))
		return 2
	}
	p := m.matcher(L, s, pattern)
	from, end := p.search(from)
	if end < 0 {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LNumber(from + 1))
	L.Push(lua.LNumber(end))
	return 2 + p.push(from, end, false)
}

// match is string.match(s, pattern, from): the captures, or the whole match if there are none.
func (m *machine) match(L *lua.LState) int {
	s := L.CheckString(1)
	p := m.matcher(L, s, L.CheckString(2))
	from, end := p.search(start(L, s))
	if end < 0 {
		L.Push(lua.LNil)
		return 1
	}
	return p.push(from, end, true)
}

// start is where the optional third argument says to begin, from 0.
func start(L *lua.LState, s string) int {
	from := L.OptInt(3, 1)
	if from < 0 {
		from += len(s) + 1
	}
	return min(max(from, 1)-1, len(s))
}

// search looks for the first match from a place on; its end is -1 if there is none.
func (p *matcher) search(from int) (start, end int) {
	if strings.HasPrefix(p.pattern, "^") {
		return from, p.at(from, 1)
	}
	for ; from <= len(p.source); from++ {
		if end := p.at(from, 0); end >= 0 {
			return from, end
		}
	}
	return from, -1
}

// push gives the captures of a match to Lua, or the match itself if there are none and it is wanted.
func (p *matcher) push(start, end int, whole bool) int {
	if len(p.captures) == 0 && whole {
		p.state.Push(lua.LString(p.source[start:end]))
		return 1
	}
	for i := range p.captures {
		p.state.Push(p.value(i, start, end))
	}
	return len(p.captures)
}

// value is a capture; without captures, the first is the whole match.
func (p *matcher) value(i, start, end int) lua.LValue {
	switch {
	case i == 0 && len(p.captures) == 0:
		return lua.LString(p.source[start:end])
	case i >= len(p.captures):
		p.state.RaiseError("invalid capture index %%%d", i+1)
	case p.captures[i].end == position:
		return lua.LNumber(p.captures[i].start + 1)
	case p.captures[i].end == unfinished:
		p.fail("has a ( without a )")
	}
	return lua.LString(p.source[p.captures[i].start:p.captures[i].end])
}

// gmatch is string.gmatch(s, pattern): a function that gives one match after the other.
func (m *machine) gmatch(L *lua.LState) int {
	s, pattern, from := L.CheckString(1), L.CheckString(2), 0
	L.Push(L.NewFunction(func(L *lua.LState) int {
		p := m.matcher(L, s, pattern)
		for ; from <= len(s); from++ {
			if end := p.at(from, 0); end >= 0 {
				start := from
				from = max(end, from+1)
				return p.push(start, end, true)
			}
		}
		L.Push(lua.LNil)
		return 1
	}))
	return 1
}

// gsub is string.gsub(s, pattern, replacement, limit).
func (m *machine) gsub(L *lua.LState) int {
	s, pattern, replacement := L.CheckString(1), L.CheckString(2), L.CheckAny(3)
	if number, ok := text(replacement); ok {
		replacement = lua.LString(number)
	}
	switch replacement.(type) {
	case lua.LString, *lua.LTable, *lua.LFunction:
	default:
		L.ArgError(3, "string/function/table expected")
	}
	limit, first := L.OptInt(4, len(s)+1), 0
	if strings.HasPrefix(pattern, "^") {
		limit, first = min(limit, 1), 1
	}
	p := m.matcher(L, s, pattern)
	out, count, at := make([]byte, 0, len(s)+len(s)/4), 0, 0
	for count < limit {
		end := p.at(at, first)
		if end >= 0 {
			count++
			if out = p.replace(out, at, end, replacement); len(out) > maxString {
				break
			}
		}
		if end > at {
			at = end
			continue
		}
		if at == len(s) || end < 0 && first == 1 {
			break
		}
		out = append(out, s[at])
		at++
	}
	m.push(L, append(out, s[at:]...))
	L.Push(lua.LNumber(count))
	return 2
}

// replace writes what takes the place of one match.
func (p *matcher) replace(out []byte, start, end int, replacement lua.LValue) []byte {
	L, value := p.state, lua.LValue(lua.LNil)
	switch r := replacement.(type) {
	case lua.LString:
		return p.expand(out, start, end, string(r))
	case *lua.LTable:
		value = L.GetTable(r, p.value(0, start, end))
	case *lua.LFunction:
		L.Push(r)
		L.Call(p.push(start, end, true), 1)
		value = L.Get(-1)
		L.Pop(1)
	}
	if lua.LVIsFalse(value) {
		return append(out, p.source[start:end]...)
	}
	out, ok := appendText(out, value)
	if !ok {
		L.RaiseError("invalid replacement value (a %s)", value.Type())
	}
	return out
}

// expand writes a replacement string, in which %1 is the first capture, %0 the match and %% a percent sign.
func (p *matcher) expand(out []byte, start, end int, replacement string) []byte {
	for i := 0; i < len(replacement); i++ {
		c := replacement[i]
		if c != '%' || i+1 == len(replacement) {
			out = append(out, c)
			continue
		}
		i++
		switch c = replacement[i]; {
		case c == '0':
			out = append(out, p.source[start:end]...)
		case '1' <= c && c <= '9':
			out, _ = appendText(out, p.value(int(c-'1'), start, end))
		default:
			out = append(out, c)
		}
	}
	return out
}
