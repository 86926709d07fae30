package social

import "strings"

// What follows @ in a mention, and http:// or https:// in a URL, as published: a path is no part of a URL.
var (
	mentionLetters = newLetters("-_")
	urlLetters     = newLetters("_!~*'().&=+$%-")
)

// letters is a set of bytes.
type letters [256]bool

// newLetters makes a set of a-z, A-Z, 0-9 and others.
func newLetters(others string) *letters {
	set := new(letters)
	for i := range 26 {
		set['a'+i], set['A'+i] = true, true
	}
	for i := range 10 {
		set['0'+i] = true
	}
	for i := range len(others) {
		set[others[i]] = true
	}
	return set
}

// count is how many bytes at the front of the text are of the set.
func (l *letters) count(text string) int {
	for i := range len(text) {
		if !l[text[i]] {
			return i
		}
	}
	return len(text)
}

// findMentions returns the usernames that a text mentions ("@name"), in their order.
func findMentions(text string) []string {
	var names []string
	for {
		at := strings.IndexByte(text, '@')
		if at < 0 {
			return names
		}
		text = text[at+1:]
		if length := mentionLetters.count(text); length > 0 {
			names = append(names, text[:length])
			text = text[length:]
		}
	}
}

// span is where a URL stands in a text.
type span struct{ start, end int }

// findURLs returns where a text has URLs, in their order.
func findURLs(text string) []span {
	var spans []span
	for from := 0; ; {
		at := strings.Index(text[from:], "http")
		if at < 0 {
			return spans
		}
		start := from + at
		from = start + len("http")
		rest, found := strings.CutPrefix(strings.TrimPrefix(text[from:], "s"), "://")
		if !found {
			continue
		}
		if length := urlLetters.count(rest); length > 0 {
			from = len(text) - len(rest) + length
			spans = append(spans, span{start, from})
		}
	}
}
