package social_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	idl "loadstone.dev/stone/apps/social/idl/social"
)

func (a *app) mentioned(t *testing.T, names ...string) []string {
	t.Helper()
	found, err := a.mentions().ComposeUserMentions(t.Context(), 1, names, nil)
	if err != nil {
		t.Errorf("%.100q: %v", names, err)
	}
	return idsAndNames(found)
}

func idsAndNames(mentions []*idl.UserMention) []string {
	texts := make([]string, len(mentions))
	for i, one := range mentions {
		texts[i] = fmt.Sprintf("%d %s", one.UserID, one.Username)
	}
	return texts
}

func testMentions(t *testing.T, a *app) {
	for range 2 { // store, cache
		if got := a.mentioned(t, "username_2", "nobody", "username_0", "username_2"); !slices.Equal(got, []string{"2 username_2", "0 username_0"}) {
			t.Errorf("mentioned: %q", got)
		}
		// Impossible names do not affect others.
		if got := a.mentioned(t, "", strings.Repeat("x", 1000), "a b", "\x00", "\xff", "username_1"); !slices.Equal(got, []string{"1 username_1"}) {
			t.Errorf("among impossible names: %q", got)
		}
	}
	if got := a.mentioned(t); len(got) != 0 {
		t.Errorf("no user was mentioned: %q", got)
	}
	_, err := a.mentions().ComposeUserMentions(t.Context(), 1, make([]string, 1001), nil)
	expectException(t, err, idl.ErrorCode_SE_INVALID, "mentions: 1001 are more than 1000")

	a.Links["documents"].Cut()
	defer a.mend(t, "documents")
	if got := a.mentioned(t, "username_0", "username_1", "username_2"); len(got) != 3 {
		t.Errorf("without the store, from the cache: %q", got)
	}
}

func testMentionsWithQuirks(t *testing.T, a *app) {
	if got := a.mentioned(t, "username_2", "nobody", "username_2"); !slices.Equal(got, []string{"2 username_2", "2 username_2"}) {
		t.Errorf("mentioned: %q", got)
	}
	if id, err := a.users().GetUserId(t.Context(), 1, "username_1", nil); id != 1 || err != nil { // is cached
		t.Error(id, err)
	}
	a.Links["documents"].Cut()
	defer a.mend(t, "documents")
	if got := a.mentioned(t, "username_1"); !slices.Equal(got, []string{"1 username_1"}) {
		t.Errorf("who is in the cache: %q", got)
	}
	_, err := a.mentions().ComposeUserMentions(t.Context(), 1, []string{"username_2"}, nil)
	expectException(t, err, idl.ErrorCode_SE_MONGODB_ERROR, "")
}

func testTexts(t *testing.T, a *app) {
	got, err := a.texts().ComposeText(t.Context(), 1, "à @username_1: http://a.b/c and https://d @unknown @username_0 @username_1 http://a.b. fin", nil)
	if err != nil {
		t.Fatal(err)
	}
	if mentions := idsAndNames(got.UserMentions); !slices.Equal(mentions, []string{"1 username_1", "0 username_0"}) {
		t.Errorf("mentions: %q", mentions)
	}
	var urls []string
	want := "à @username_1: 0/c and 1 @unknown @username_0 @username_1 2 fin"
	for i, url := range got.Urls {
		want = strings.Replace(want, fmt.Sprintf(" %d", i), " "+url.ShortenedURL, 1)
		urls = append(urls, url.ExpandedURL)
		if !shortURL.MatchString(url.ShortenedURL) {
			t.Errorf("short URL %s", url.ShortenedURL)
		}
	}
	if !slices.Equal(urls, []string{"http://a.b", "https://d", "http://a.b."}) || got.Text != want {
		t.Errorf("text %q, want %q, URLs %q", got.Text, want, urls)
	}
	_, err = a.texts().ComposeText(t.Context(), 1, strings.Repeat("@a ", 1001), nil)
	expectException(t, err, idl.ErrorCode_SE_INVALID, "text: 1001 mentions are more than 1000")
}

func testTextsWithQuirks(t *testing.T, a *app) {
	got, err := a.texts().ComposeText(t.Context(), 1, "@username_1 http://a @username_1 http://b lost", nil)
	if err != nil || len(got.Urls) != 2 {
		t.Fatal(got, err)
	}
	if want := "@username_1 " + got.Urls[0].ShortenedURL + " @username_1 " + got.Urls[1].ShortenedURL; got.Text != want {
		t.Errorf("text %q, want %q", got.Text, want)
	}
	if mentions := idsAndNames(got.UserMentions); !slices.Equal(mentions, []string{"1 username_1", "1 username_1"}) {
		t.Errorf("mentions: %q", mentions)
	}
}
