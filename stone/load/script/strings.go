package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// openStrings replaces what gopher-lua's string library does unlike Lua: it folds the case of UTF-8 and breaks other
// bytes, gives all bytes for s:byte(), and has patterns of its own kind (pattern.go).
func (m *machine) openStrings() {
	m.set("string", map[string]lua.LGFunction{
		"format": m.format,
		"find":   m.find,
		"match":  m.match,
		"gmatch": m.gmatch,
		"gfind":  m.gmatch,
		"gsub":   m.gsub,
		"rep":    m.rep,
		"lower":  func(L *lua.LState) int { return m.push(L, shift(L.CheckString(1), 'A', 'Z', 'a'-'A')) },
		"upper":  func(L *lua.LState) int { return m.push(L, shift(L.CheckString(1), 'a', 'z', 'A'-'a')) },
		"byte":   stringByte,
	})
}

// shift moves the bytes from low to high by a difference.
func shift(s string, low, high byte, by int) []byte {
	out := []byte(s)
	for i, b := range out {
		if low <= b && b <= high {
			out[i] = byte(int(b) + by)
		}
	}
	return out
}

// stringByte is string.byte(s, from, to): the codes of the bytes.
func stringByte(L *lua.LState) int {
	s := L.CheckString(1)
	from := L.OptInt(2, 1)
	to := L.OptInt(3, from)
	if from < 0 {
		from = max(from+len(s)+1, 1)
	}
	if to < 0 {
		to += len(s) + 1
	}
	from, to = max(from, 1), min(to, len(s))
	for i := from; i <= to; i++ {
		L.Push(lua.LNumber(s[i-1]))
	}
	return max(0, to-from+1)
}

func (m *machine) rep(L *lua.LState) int {
	s, n := L.CheckString(1), max(0, L.CheckInt(2))
	if len(s) == 0 {
		n = 0
	}
	if n > 0 && n > maxString/len(s) {
		m.made(L, maxString+1)
	}
	m.made(L, len(s)*n)
	L.Push(lua.LString(strings.Repeat(s, n)))
	return 1
}
