package social

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	idl "loadstone.dev/stone/apps/social/idl/social"
)

// FuzzReplace compares with the published expression, used to replace.
func FuzzReplace(f *testing.F) {
	for _, text := range scanned {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spans := findURLs(text)
		parts := cut(text, spans)
		urls := make([]*idl.URL, len(spans))
		for i := range urls {
			urls[i] = &idl.URL{ShortenedURL: fmt.Sprintf("<%d>", i), ExpandedURL: parts[i]}
		}
		next := 0
		want := urlPattern.ReplaceAllStringFunc(text, func(found string) string {
			if parts[next] != found {
				t.Errorf("URL %d of %q is %q, want %q", next, text, parts[next], found)
			}
			next++
			return urls[next-1].ShortenedURL
		})
		got := replace(text, spans, urls, false)
		if got != want || next != len(urls) {
			t.Errorf("%q became %q, want %q, with %d of %d URLs", text, got, want, next, len(urls))
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q became %q, which is not UTF-8", text, got)
		}
		short := replace(text, spans, urls, true)
		if len(urls) > 0 && !strings.HasSuffix(short, urls[len(urls)-1].ShortenedURL) || !strings.HasPrefix(got, short) {
			t.Errorf("%q without its rest became %q", text, short)
		}
	})
}

// helpers are the services that a text needs. Each answers once both were called, so only if they are at the same time.
type helpers struct {
	urls, names             []string
	urlsCalled, namesCalled chan struct{}
}

func newHelpers() *helpers {
	return &helpers{urlsCalled: make(chan struct{}), namesCalled: make(chan struct{})}
}

func (h *helpers) ComposeUrls(_ context.Context, _ int64, urls []string, carrier map[string]string) ([]*idl.URL, error) {
	h.urls = append(urls, carrier["trace"])
	close(h.urlsCalled)
	if err := wait(h.namesCalled); err != nil {
		return nil, err
	}
	answer := make([]*idl.URL, len(urls))
	for i, url := range urls {
		answer[i] = &idl.URL{ShortenedURL: fmt.Sprintf("<%d>", i), ExpandedURL: url}
	}
	return answer, nil
}

func (h *helpers) GetExtendedUrls(context.Context, int64, []string, map[string]string) ([]string, error) {
	return nil, nil
}

func (h *helpers) ComposeUserMentions(_ context.Context, _ int64, names []string, carrier map[string]string) ([]*idl.UserMention, error) {
	h.names = append(names, carrier["trace"])
	close(h.namesCalled)
	return nil, wait(h.urlsCalled)
}

func wait(other <-chan struct{}) error {
	select {
	case <-other:
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("the other service was not called")
	}
}

func TestATextCallsBothServicesAtTheSameTime(t *testing.T) {
	carrier := map[string]string{"trace": "t"}
	for _, c := range []struct {
		quirks      bool
		text, want  string
		urls, names []string
	}{
		{false, "", "", nil, nil},
		{true, "", "", nil, nil},
		{false, "nothing", "nothing", nil, nil},
		{true, "nothing", "nothing", nil, nil},
		{false, "@b http://x y @a https://z @b end", "@b <0> y @a <1> @b end", []string{"http://x", "https://z"}, []string{"b", "a"}},
		{true, "@b http://x y @a https://z @b end", "@b <0> y @a <1>", []string{"http://x", "https://z"}, []string{"b", "a", "b"}},
	} {
		helpers := newHelpers()
		service := &textService{helpers, helpers, c.quirks}
		got, err := service.ComposeText(t.Context(), 1, c.text, carrier)
		if err != nil || got.Text != c.want {
			t.Errorf("%q: %+v, %v", c.text, got, err)
		}
		if !slices.Equal(helpers.urls, append(c.urls, "t")) || !slices.Equal(helpers.names, append(c.names, "t")) {
			t.Errorf("%q: URLs %q, names %q", c.text, helpers.urls, helpers.names)
		}
	}
}

func TestAWrongTextCallsNoService(t *testing.T) {
	service := &textService{nil, nil, false}
	for _, text := range []string{"\xff", "\x00", strings.Repeat("x", longestText+1)} {
		if answer, err := service.ComposeText(t.Context(), 1, text, nil); err == nil {
			t.Errorf("%.20q: %v", text, answer)
		}
	}
}
