package documents

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"
)

// checkStorable refuses what only one of the adapters could keep (ErrUnstorable): JSONB knows no NUL
// character and no NaN, JSON would silently replace what is not UTF-8, BSON has no number above int64.
// what names the value for the message.
func checkStorable(what string, value any) error {
	if path, reason := unstorable(reflect.ValueOf(value)); reason != "" {
		return fmt.Errorf("%w: %s%s: %s", ErrUnstorable, what, path, reason)
	}
	return nil
}

// unstorable finds the first such value inside: where it stands (from the outside in) and what is
// wrong with it; an empty reason if there is none.
func unstorable(value reflect.Value) (path, reason string) {
	switch value.Kind() {
	case reflect.String:
		return "", wrongText(value.String())
	case reflect.Float32, reflect.Float64:
		if number := value.Float(); math.IsNaN(number) || math.IsInf(number, 0) {
			return "", fmt.Sprintf("%v is not a finite number", number)
		}
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		if number := value.Uint(); number > math.MaxInt64 {
			return "", fmt.Sprintf("%d is above %d, the greatest whole number", number, math.MaxInt64)
		}
	case reflect.Pointer, reflect.Interface:
		return unstorable(value.Elem()) // for nil: the invalid value, which has no kind
	case reflect.Struct:
		return unstorableField(value)
	case reflect.Map:
		for entries := value.MapRange(); entries.Next(); {
			path, reason := unstorable(entries.Key())
			if reason == "" {
				path, reason = unstorable(entries.Value())
			}
			if reason != "" {
				return fmt.Sprintf("[%q]%s", fmt.Sprint(entries.Key()), path), reason
			}
		}
	case reflect.Slice, reflect.Array:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return "", "" // bytes are kept as bytes
		}
		for i := range value.Len() {
			if path, reason := unstorable(value.Index(i)); reason != "" {
				return fmt.Sprintf("[%d]%s", i, path), reason
			}
		}
	}
	return "", ""
}

func unstorableField(value reflect.Value) (path, reason string) {
	for i := range value.NumField() {
		field := value.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" {
			continue
		}
		if path, reason := unstorable(value.Field(i)); reason != "" {
			if name == "" {
				name = field.Name
			}
			return "." + name + path, reason
		}
	}
	return "", ""
}

func wrongText(text string) string {
	switch {
	case !utf8.ValidString(text):
		return fmt.Sprintf("text %s is not UTF-8", excerpt(text))
	case strings.Contains(text, "\x00"):
		return fmt.Sprintf("text %s holds a NUL character", excerpt(text))
	default:
		return ""
	}
}

// excerpt quotes the beginning of a text: a document can be long.
func excerpt(text string) string {
	const most = 40
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
