package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/pm"
)

// openStrings replaces what gopher-lua's string library does unlike Lua: it folds the case of UTF-8 and breaks other
// bytes, gives all bytes for s:byte(), panics on a start beyond the end, and copies the text once a match in gsub.
func (m *machine) openStrings() {
	find := m.original("string", "find")
	m.set("string", map[string]lua.LGFunction{
		"format": m.format,
		"gsub":   m.gsub,
		"rep":    m.rep,
		"lower":  func(L *lua.LState) int { return m.push(L, shift(L.CheckString(1), 'A', 'Z', 'a'-'A')) },
		"upper":  func(L *lua.LState) int { return m.push(L, shift(L.CheckString(1), 'a', 'z', 'A'-'a')) },
		"byte":   stringByte,
		"find": func(L *lua.LState) int {
			if end := len(L.CheckString(1)) + 1; L.OptInt(3, 1) > end {
				L.Replace(3, lua.LNumber(end))
			}
			return find(L)
		},
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

// gsub is string.gsub(s, pattern, replacement, limit).
func (m *machine) gsub(L *lua.LState) int {
	s, pattern, replacement := L.CheckString(1), L.CheckString(2), L.CheckAny(3)
	if number, ok := replacement.(lua.LNumber); ok {
		replacement = lua.LString(appendNumber(nil, float64(number)))
	}
	switch replacement.(type) {
	case lua.LString, *lua.LTable, *lua.LFunction:
	default:
		L.ArgError(3, "string/function/table expected")
	}
	limit := L.OptInt(4, -1)
	var matches []*pm.MatchData
	if limit != 0 {
		var err error
		if matches, err = pm.Find(pattern, []byte(s), 0, limit); err != nil {
			L.RaiseError("%s", err.Error())
		}
	}
	out, at := make([]byte, 0, len(s)+len(s)/4), 0
	for _, match := range matches {
		out = append(out, s[at:match.Capture(0)]...)
		out = m.replace(L, out, s, match, replacement)
		at = match.Capture(1)
	}
	m.push(L, append(out, s[at:]...))
	L.Push(lua.LNumber(len(matches)))
	return 2
}

// replace writes what takes the place of one match.
func (m *machine) replace(L *lua.LState, out []byte, s string, match *pm.MatchData, replacement lua.LValue) []byte {
	value := lua.LValue(lua.LNil)
	switch r := replacement.(type) {
	case lua.LString:
		return appendReplacement(L, out, s, match, string(r))
	case *lua.LTable:
		value = L.GetTable(r, capture(L, s, match, 1))
	case *lua.LFunction:
		L.Push(r)
		captures := max(1, match.CaptureLength()/2-1)
		for i := 1; i <= captures; i++ {
			L.Push(capture(L, s, match, i))
		}
		L.Call(captures, 1)
		value = L.Get(-1)
		L.Pop(1)
	}
	if lua.LVIsFalse(value) {
		return append(out, s[match.Capture(0):match.Capture(1)]...)
	}
	out, ok := appendText(out, value)
	if !ok {
		L.RaiseError("invalid replacement value (a %s)", value.Type())
	}
	return out
}

// appendReplacement writes a replacement string, in which %1 is the first capture, %0 the match and %% a percent sign.
func appendReplacement(L *lua.LState, out []byte, s string, match *pm.MatchData, replacement string) []byte {
	for i := 0; i < len(replacement); i++ {
		c := replacement[i]
		if c != '%' || i+1 == len(replacement) {
			out = append(out, c)
			continue
		}
		i++
		if c = replacement[i]; c < '0' || c > '9' {
			out = append(out, c)
			continue
		}
		out, _ = appendText(out, capture(L, s, match, int(c-'0')))
	}
	return out
}

// capture is a match's capture, the whole match for 0; without captures, 1 is the whole match too.
func capture(L *lua.LState, s string, match *pm.MatchData, number int) lua.LValue {
	if match.CaptureLength() == 2 && number == 1 {
		number = 0
	}
	if 2*number+1 >= match.CaptureLength() {
		L.RaiseError("invalid capture index %%%d", number)
	}
	if match.IsPosCapture(2 * number) {
		return lua.LNumber(match.Capture(2 * number))
	}
	return lua.LString(s[match.Capture(2*number):match.Capture(2*number+1)])
}
