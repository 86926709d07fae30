package social

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The published expressions: what the scanners must find, no more and no less.
var (
	mentionPattern = regexp.MustCompile(`@([a-zA-Z0-9-_]+)`)
	urlPattern     = regexp.MustCompile(`(http://|https://)([a-zA-Z0-9_!~*'().&=+$%-]+)`)
)

var scanned = []string{
	"", "@", "http://", "@a", "@@a", "a@b@c", "@a-b_9.c", "@ü", "mail me@example.com",
	"http://a", "https://a", "httpss://a", "http:///a", "hhttp://a", "http://http://a", "https:// x", "httphttp://x",
	"http://a.b/c?d=e#f", "http://a@b", "@http://a", "see http://x.y! and https://(z)~*'&=+$%-_ @me", "HTTP://a", "http://\xff", "@\xff",
	"@a\x00http://b\x00", strings.Repeat("@u http://x ", 20),
}

func FuzzScan(f *testing.F) {
	for _, text := range scanned {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want []string
		for _, match := range mentionPattern.FindAllStringSubmatch(text, -1) {
			want = append(want, match[1])
		}
		if got := findMentions(text); !slices.Equal(got, want) {
			t.Errorf("mentions of %q: %q, want %q", text, got, want)
		}
		var spans []span
		for _, match := range urlPattern.FindAllStringIndex(text, -1) {
			spans = append(spans, span{match[0], match[1]})
		}
		if got := findURLs(text); !slices.Equal(got, spans) {
			t.Errorf("URLs of %q: %v, want %v", text, got, spans)
		}
	})
}

// typical is a post as the published load scripts make them.
var typical = strings.Repeat("x", 256) + " @username_1 @username_22 @username_333 http://" + strings.Repeat("y", 64) + " http://" + strings.Repeat("z", 64)

func BenchmarkScan(b *testing.B) {
	b.Run("scanner", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			findMentions(typical)
			findURLs(typical)
		}
	})
	b.Run("regexp", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mentionPattern.FindAllString(typical, -1)
			urlPattern.FindAllStringIndex(typical, -1)
		}
	})
}
