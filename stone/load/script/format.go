package script

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// conversion is one %-item of string.format, such as %-5.2f.
type conversion struct {
	flags            string
	width, precision int // precision is -1 if there is none
	verb             byte
}

// parseConversion reads a conversion at the start of what follows the %, and returns its length.
func parseConversion(format string) (c conversion, length int, ok bool) {
	at := 0
	for at < len(format) && strings.IndexByte("-+ #0", format[at]) >= 0 {
		at++
	}
	c.flags = format[:at]
	number := func() int {
		from := at
		for at < len(format) && '0' <= format[at] && format[at] <= '9' && at-from < 2 {
			at++
		}
		n, _ := strconv.Atoi(format[from:at])
		return n
	}
	c.width, c.precision = number(), -1
	if at < len(format) && format[at] == '.' {
		at++
		c.precision = number()
	}
	if at == len(format) {
		return c, at, false
	}
	c.verb = format[at]
	return c, at + 1, true
}

// format is string.format, as C's printf does it: gopher-lua's own follows Go's verbs.
func (m *machine) format(L *lua.LState) int {
	format := L.CheckString(1)
	out := make([]byte, 0, len(format)+32)
	argument := 1
	for {
		percent := strings.IndexByte(format, '%')
		if percent < 0 {
			return m.push(L, append(out, format...))
		}
		out = append(out, format[:percent]...)
		format = format[percent+1:]
		if strings.HasPrefix(format, "%") {
			out, format = append(out, '%'), format[1:]
			continue
		}
		c, length, ok := parseConversion(format)
		if !ok {
			L.RaiseError("string.format: the format ends within %%%s", format)
		}
		argument++
		out = m.convert(L, out, c, argument)
		format = format[length:]
	}
}

func (m *machine) convert(L *lua.LState, out []byte, c conversion, argument int) []byte {
	switch c.verb {
	case 'd', 'i':
		return c.integer(out, float64(L.CheckNumber(argument)))
	case 'u', 'x', 'X', 'o':
		return c.unsigned(out, float64(L.CheckNumber(argument)))
	case 'e', 'E', 'f', 'F', 'g', 'G':
		return c.float(out, float64(L.CheckNumber(argument)))
	case 'c':
		return c.pad(out, string([]byte{byte(int64(L.CheckNumber(argument)))}))
	case 'q':
		return appendQuoted(out, L.CheckString(argument))
	case 's':
		s := m.shown(L.CheckAny(argument))
		if c.precision >= 0 && c.precision < len(s) {
			s = s[:c.precision]
		}
		return c.pad(out, s)
	}
	L.RaiseError("string.format: invalid option %%%c", c.verb)
	return out
}

// spec is the conversion as Go's fmt writes it.
func (c conversion) spec(verb byte) string {
	s := "%" + c.flags
	if c.width > 0 {
		s += strconv.Itoa(c.width)
	}
	if c.precision >= 0 {
		s += "." + strconv.Itoa(c.precision)
	}
	return s + string(verb)
}

func (c conversion) plain() bool { return c.flags == "" && c.width == 0 && c.precision < 0 }

func (c conversion) integer(out []byte, n float64) []byte {
	if c.plain() {
		return strconv.AppendInt(out, int64(n), 10)
	}
	return fmt.Appendf(out, c.spec('d'), int64(n))
}

func (c conversion) unsigned(out []byte, n float64) []byte {
	value := uint64(int64(n))
	if n >= 1<<63 {
		value = uint64(n)
	}
	if c.verb == 'u' {
		return fmt.Appendf(out, c.spec('d'), value)
	}
	return fmt.Appendf(out, c.spec(c.verb), value)
}

func (c conversion) float(out []byte, n float64) []byte {
	if math.IsInf(n, 0) || math.IsNaN(n) {
		return c.pad(out, string(appendNumber(nil, n)))
	}
	if c.precision < 0 {
		c.precision = 6
	}
	if c.verb == 'F' {
		c.verb = 'f'
	}
	if c.verb == 'f' && c.flags == "" && c.width == 0 {
		return strconv.AppendFloat(out, n, 'f', c.precision, 64)
	}
	if (c.verb == 'g' || c.verb == 'G') && c.precision == 0 {
		c.precision = 1
	}
	return fmt.Appendf(out, c.spec(c.verb), n)
}

func (c conversion) pad(out []byte, s string) []byte {
	fill := strings.Repeat(" ", max(0, c.width-len(s)))
	if strings.Contains(c.flags, "-") {
		return append(append(out, s...), fill...)
	}
	return append(append(out, fill...), s...)
}

// appendQuoted writes a string that Lua reads back as the same.
func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	for i := range len(s) {
		switch s[i] {
		case '"', '\\', '\n':
			out = append(out, '\\', s[i])
		case '\r':
			out = append(out, `\r`...)
		case 0:
			out = append(out, `\000`...)
		default:
			out = append(out, s[i])
		}
	}
	return append(out, '"')
}
