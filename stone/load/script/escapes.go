package script

import (
	"fmt"
	"strconv"
	"strings"
)

// decimalEscapes writes LuaJIT's \xHH as \DDD in the quoted strings of a Lua text.
func decimalEscapes(source string) string {
	var out strings.Builder
	for at := 0; at < len(source); {
		end := at + 1
		switch rest := source[at:]; {
		case strings.HasPrefix(rest, "--"):
			end = at + 2
			if level := longBracket(source[end:]); level >= 0 {
				end += longString(source[end:], level)
			} else if line := strings.IndexByte(rest, '\n'); line >= 0 {
				end = at + line
			} else {
				end = len(source)
			}
		case rest[0] == '[' && longBracket(rest) >= 0:
			end = at + longString(rest, longBracket(rest))
		case rest[0] == '"' || rest[0] == '\'':
			end = at + quoted(rest, &out)
			at = end
			continue
		}
		out.WriteString(source[at:end])
		at = end
	}
	return out.String()
}

// longBracket is the number of = in [==[ at the start of text, -1 if there is no such bracket.
func longBracket(text string) int {
	inner := strings.TrimLeft(strings.TrimPrefix(text, "["), "=")
	level := len(text) - 1 - len(inner)
	if !strings.HasPrefix(text, "[") || !strings.HasPrefix(inner, "[") {
		return -1
	}
	return level
}

// longString is the length of the long string at the start of text.
func longString(text string, level int) int {
	ending := "]" + strings.Repeat("=", level) + "]"
	if end := strings.Index(text, ending); end >= 0 {
		return end + len(ending)
	}
	return len(text)
}

// quoted writes the quoted string at the start of text and returns the length of what it read.
func quoted(text string, out *strings.Builder) int {
	out.WriteByte(text[0])
	for at := 1; at < len(text); at++ {
		switch {
		case text[at] == '\\' && at+3 < len(text) && text[at+1] == 'x':
			if code, err := strconv.ParseUint(text[at+2:at+4], 16, 8); err == nil {
				fmt.Fprintf(out, "\\%03d", code)
				at += 3
				continue
			}
			out.WriteByte('\\')
		case text[at] == '\\' && at+1 < len(text):
			out.WriteString(text[at : at+2])
			at++
		default:
			out.WriteByte(text[at])
			if text[at] == text[0] || text[at] == '\n' {
				return at + 1
			}
		}
	}
	return len(text)
}
