package request

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"

	"loadstone.dev/stone/load/mistake"
)

// jsonPath cuts a path at its dots.
func jsonPath(path, key string) ([]string, error) {
	parts := strings.Split(path, ".")
	for _, part := range parts {
		if part == "" {
			return nil, mistake.New(key, "%q: give keys and array indexes with a dot between each, such as items.0.id", path)
		}
	}
	return parts, nil
}

const deepest = 1000 // levels of JSON: gjson follows them by recursion

func isJSON(body []byte) bool {
	return !nested(body, deepest) && gjson.ValidBytes(body) && utf8.Valid(body)
}

// nested tells whether JSON text opens more than so many brackets inside each other.
func nested(body []byte, most int) bool {
	if bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) <= most {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch b := body[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '[' || b == '{':
			if depth++; depth > most {
				return true
			}
		case b == ']' || b == '}':
			depth--
		}
	}
	return false
}

// lookUp follows a path through a JSON text. count is how often it is there: more than once if a key on its way
// is given twice, so that readers of the body would disagree. The value points into the body.
func lookUp(body []byte, path []string) (value gjson.Result, count int) {
	value = gjson.Parse(unsafe.String(unsafe.SliceData(body), len(body))) // a view: parsing keeps no copy
	for _, part := range path {
		var found gjson.Result
		index, inList := 0, value.IsArray()
		count = 0
		if value.IsObject() || inList {
			value.ForEach(func(key, item gjson.Result) bool {
				if inList && isIndex(part, index) || !inList && key.Str == part {
					found = item
					count++
				}
				index++
				return true
			})
		}
		if count != 1 {
			return found, count
		}
		value = found
	}
	return value, count
}

// isIndex tells whether text is the number as it is written: 0, 1, 17, never 017.
func isIndex(text string, number int) bool {
	var digits [20]byte
	return string(strconv.AppendInt(digits[:0], int64(number), 10)) == text
}

// sameScalar compares two scalars by type and value. Whole numbers beyond 2^53, which a float cannot tell apart,
// are compared as they are written.
func sameScalar(a, b gjson.Result) bool {
	switch {
	case a.Type != b.Type:
		return false
	case a.Type == gjson.String:
		return a.Str == b.Str
	case a.Type == gjson.Number && (a.Num >= 1<<53 || a.Num <= -(1<<53)):
		return a.Raw == b.Raw
	case a.Type == gjson.Number:
		return a.Num == b.Num
	}
	return true // null, true and false are types of their own
}
