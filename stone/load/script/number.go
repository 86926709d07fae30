package script

import (
	"errors"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

const maxString = 256 << 20 // bytes

// appendNumber writes a number as Lua does: "%.14g".
func appendNumber(to []byte, n float64) []byte {
	if whole := int64(n); float64(whole) == n && -1e14 < n && n < 1e14 && (n != 0 || !math.Signbit(n)) {
		return strconv.AppendInt(to, whole, 10)
	}
	switch {
	case math.IsNaN(n):
		return append(to, "nan"...)
	case math.IsInf(n, 1):
		return append(to, "inf"...)
	case math.IsInf(n, -1):
		return append(to, "-inf"...)
	}
	return strconv.AppendFloat(to, n, 'g', 14, 64)
}

// text is a string or a number as a string; nothing else stands for a string in Lua.
func text(value lua.LValue) (string, bool) {
	switch v := value.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return string(appendNumber(make([]byte, 0, 24), float64(v))), true
	}
	return "", false
}

func appendText(to []byte, value lua.LValue) ([]byte, bool) {
	switch v := value.(type) {
	case lua.LString:
		return append(to, v...), true
	case lua.LNumber:
		return appendNumber(to, float64(v)), true
	}
	return to, false
}

// shown is what tostring() makes of a value.
func (m *machine) shown(value lua.LValue) string {
	if s, ok := text(value); ok {
		return s
	}
	s, _ := text(m.state.ToStringMeta(value))
	return s
}

// toNumber is tonumber(value, base): gopher-lua's knows neither "1e3" nor all white space.
func (m *machine) toNumber() lua.LGFunction {
	convert := m.original("_G", "tonumber")
	return func(L *lua.LState) int {
		s, ok := L.CheckAny(1).(lua.LString)
		if !ok || L.OptInt(2, 10) != 10 {
			return convert(L)
		}
		if n, ok := parseNumber(string(s)); ok {
			L.Push(lua.LNumber(n))
		} else {
			L.Push(lua.LNil)
		}
		return 1
	}
}

func parseNumber(s string) (float64, bool) {
	s = strings.Trim(s, " \t\n\v\f\r")
	digits := strings.ToLower(strings.TrimLeft(s, "+-"))
	if len(s)-len(digits) > 1 || strings.ContainsAny(digits, "_in") { // what Go reads and Lua does not: 1_0, inf, nan
		return 0, false
	}
	if strings.HasPrefix(digits, "0x") && !strings.ContainsAny(digits, ".p") {
		n, err := strconv.ParseUint(digits[2:], 16, 64)
		if s[0] == '-' {
			return -float64(n), err == nil
		}
		return float64(n), err == nil
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

func (m *machine) openNumbers() {
	m.set("_G", map[string]lua.LGFunction{
		"tonumber": m.toNumber(),
		"tostring": func(L *lua.LState) int {
			value := L.CheckAny(1)
			if s, ok := text(value); ok {
				L.Push(lua.LString(s))
			} else {
				L.Push(L.ToStringMeta(value))
			}
			return 1
		},
	})
	m.set("table", map[string]lua.LGFunction{"concat": m.tableConcat})
}

// push gives a string back to Lua, if it is not too long.
func (m *machine) push(L *lua.LState, s []byte) int {
	m.made(L, len(s))
	L.Push(lua.LString(s))
	return 1
}

// made counts a new string of so many bytes.
func (m *machine) made(L *lua.LState, bytes int) {
	if bytes > maxString {
		L.RaiseError("a string of more than %d MiB", maxString>>20)
	}
	m.watch.spend(bytes)
}

// join is the .. of scripts, for a whole chain of operands.
func (m *machine) join(L *lua.LState) int {
	n, ok := L.GetTop(), true
	joined := m.scratch[:0]
	for i := 1; i <= n && ok; i++ {
		if joined, ok = appendText(joined, L.Get(i)); len(joined) > maxString {
			break
		}
	}
	if cap(joined) <= 1<<20 {
		m.scratch = joined
	}
	if ok {
		return m.push(L, joined)
	}
	return m.joinWithMeta(L, n)
}

// joinWithMeta joins from the right, as Lua does, with __concat where an operand is neither string nor number.
func (m *machine) joinWithMeta(L *lua.LState, n int) int {
	right := L.Get(n)
	for i := n - 1; i > 0; i-- {
		left := L.Get(i)
		a, leftIsText := text(left)
		b, rightIsText := text(right)
		if leftIsText && rightIsText {
			m.made(L, len(a)+len(b))
			right = lua.LString(a + b)
			continue
		}
		meta := L.GetMetaField(left, "__concat")
		if meta == lua.LNil {
			meta = L.GetMetaField(right, "__concat")
		}
		if meta == lua.LNil {
			bad, at := left, i
			if leftIsText {
				bad, at = right, i+1
			}
			L.RaiseError("attempt to concatenate a %s value (part %d of %d that .. joins)", bad.Type(), at, n)
		}
		L.Push(meta)
		L.Push(left)
		L.Push(right)
		L.Call(2, 1)
		right = L.Get(-1)
		L.Pop(1)
	}
	L.Push(right)
	return 1
}

// tableConcat is table.concat(list, separator, from, to).
func (m *machine) tableConcat(L *lua.LState) int {
	list, separator := L.CheckTable(1), L.OptString(2, "")
	from, to := L.OptInt(3, 1), L.OptInt(4, list.Len())
	var joined []byte
	for i := from; i <= to; i++ {
		value, ok := list.RawGetInt(i), false
		if joined, ok = appendText(joined, value); !ok {
			L.RaiseError("invalid value (%s) at index %d in table for 'concat'", value.Type(), i)
		}
		if i < to {
			joined = append(joined, separator...)
		}
		if len(joined) > maxString {
			break
		}
	}
	return m.push(L, joined)
}
