package social_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
)

var shortURL = regexp.MustCompile(`^http://short-url/[a-zA-Z0-9]{10}$`)

func testURLs(t *testing.T, a *app) {
	service, stored := a.shortURLs(), data.URLs.In(a.Store())
	long := []string{"http://a.b", "https://" + strings.Repeat("y", 2000), "http://a.b"}
	urls, err := service.ComposeUrls(t.Context(), 1, long, nil)
	if err != nil || len(urls) != 3 {
		t.Fatal(urls, err)
	}
	var short []string
	for i, url := range urls {
		if url.ExpandedURL != long[i] || !shortURL.MatchString(url.ShortenedURL) || slices.Contains(short, url.ShortenedURL) {
			t.Errorf("%s became %s", url.ExpandedURL, url.ShortenedURL)
		}
		short = append(short, url.ShortenedURL)
	}
	slices.Reverse(short)
	expanded, err := service.GetExtendedUrls(t.Context(), 1, append(short, short[0]), nil)
	if err != nil || !slices.Equal(expanded, []string{long[2], long[1], long[0], long[2]}) {
		t.Errorf("expanded: %q, %v", expanded, err)
	}
	_, err = service.GetExtendedUrls(t.Context(), 1, []string{short[0], "http://short-url/x"}, nil)
	expectException(t, err, idl.ErrorCode_SE_NOT_FOUND, `"http://short-url/x" is no short URL`)

	before, err := stored.Count(t.Context())
	if err != nil || before < 3 {
		t.Errorf("%d stored, %v", before, err)
	}
	for want, wrong := range map[string][]string{
		"URLs: 1001 are more than 1000":        make([]string, 1001),
		"URL: not UTF-8":                       {"http://a", "http://\xff"},
		"URL: contains a NUL":                  {"http://a", "http://\x00"},
		"URL: 65537 bytes are more than 65536": {"http://a", strings.Repeat("x", 65537)},
	} {
		_, err := service.ComposeUrls(t.Context(), 1, wrong, nil)
		expectException(t, err, idl.ErrorCode_SE_INVALID, want)
		_, err = service.GetExtendedUrls(t.Context(), 1, wrong, nil)
		expectException(t, err, idl.ErrorCode_SE_INVALID, want)
	}
	for _, nothing := range [][]string{nil, {}} {
		urls, err := service.ComposeUrls(t.Context(), 1, nothing, nil)
		expanded, alsoErr := service.GetExtendedUrls(t.Context(), 1, nothing, nil)
		if len(urls)+len(expanded) != 0 || err != nil || alsoErr != nil {
			t.Errorf("of nothing: %v %v %v %v", urls, expanded, err, alsoErr)
		}
	}
	if after, err := stored.Count(t.Context()); after != before || err != nil {
		t.Errorf("%d stored, then %d, %v", before, after, err)
	}
	if urls, err := service.ComposeUrls(t.Context(), 1, slices.Repeat([]string{"http://a"}, 1000), nil); err != nil || len(urls) != 1000 {
		t.Errorf("the most that there may be: %d, %v", len(urls), err)
	}
}

func testURLsWithQuirks(t *testing.T, a *app) {
	urls, err := a.shortURLs().ComposeUrls(t.Context(), 1, []string{"http://a.b"}, nil)
	if err != nil || len(urls) != 1 {
		t.Fatal(urls, err)
	}
	expanded, err := a.shortURLs().GetExtendedUrls(t.Context(), 1, []string{urls[0].ShortenedURL}, nil)
	if err != nil || len(expanded) != 0 {
		t.Errorf("expanded: %q, %v", expanded, err)
	}
}
