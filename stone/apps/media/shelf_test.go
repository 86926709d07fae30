package media

import (
	"strings"
	"testing"
	"unicode"
)

// FuzzCacheKey: memcached takes every key, and two texts have two keys.
func FuzzCacheKey(f *testing.F) {
	f.Add("title", "title ")
	f.Add("Ünïcode & blanks", "%C3")
	f.Add(strings.Repeat("a", 200), strings.Repeat("a", 201))
	f.Add("a+b", "a b")
	f.Add("\x00\n\r", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, text := range []string{a, b} {
			key := cacheKey(text)
			if key == "" || len(key) > 250 || strings.ContainsFunc(key, func(r rune) bool { return r > 126 || unicode.IsControl(r) || unicode.IsSpace(r) }) {
				t.Errorf("%q has the key %q", text, key)
			}
		}
		if (a == b) != (cacheKey(a) == cacheKey(b)) {
			t.Errorf("%q and %q have the key %q", a, b, cacheKey(a))
		}
	})
}
