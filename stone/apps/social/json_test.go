package social

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	idl "loadstone.dev/stone/apps/social/idl/social"
)

const largestID = 1<<63 - 1

func examplePost() *idl.Post {
	return &idl.Post{
		PostID: largestID, Creator: &idl.Creator{UserID: 3, Username: "ann"}, ReqID: 9, Text: "say \"hi\" \\ é\n\t<b>", Timestamp: 1_700_000_000_000,
		UserMentions: []*idl.UserMention{{UserID: 4, Username: "bob"}, {UserID: 5, Username: "eve"}},
		Media:        []*idl.Media{{MediaID: 12, MediaType: "png"}},
		Urls:         []*idl.URL{{ShortenedURL: "http://short-url/a", ExpandedURL: "http://long"}},
		PostType:     idl.PostType_REPLY,
	}
}

// decoded makes JSON comparable whatever the order of its keys, with numbers as they are written.
func decoded(t *testing.T, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func TestPostsAsJSON(t *testing.T) {
	const numbers = `[{"post_id":9223372036854775807,"creator":{"user_id":3,"username":"ann"},"req_id":9,
		"text":"say \"hi\" \\ é\n\t<b>","user_mentions":[{"user_id":4,"username":"bob"},{"user_id":5,"username":"eve"}],
		"media":[{"media_id":12,"media_type":"png"}],"urls":[{"shortened_url":"http://short-url/a","expanded_url":"http://long"}],
		"timestamp":1700000000000,"post_type":2},
		{"post_id":1,"creator":null,"req_id":0,"text":"","user_mentions":[],"media":[],"urls":[],"timestamp":0,"post_type":0}]`
	const texts = `[{"post_id":"9223372036854775807","creator":{"user_id":"3","username":"ann"},"req_id":"9",
		"text":"say \"hi\" \\ é\n\t<b>","user_mentions":[{"user_id":"4","username":"bob"},{"user_id":"5","username":"eve"}],
		"media":[{"media_id":"12","media_type":"png"}],"urls":[{"shortened_url":"http://short-url/a","expanded_url":"http://long"}],
		"timestamp":"1700000000000","post_type":2},
		{"post_id":"1","creator":null,"req_id":"0","text":"","user_mentions":{},"media":{},"urls":{},"timestamp":"0","post_type":0}]`
	for quirks, want := range map[bool]string{false: numbers, true: texts} {
		e := encoding{quirks}
		got := string(array(e, nil, []*idl.Post{examplePost(), {PostID: 1}}, e.post))
		if !reflect.DeepEqual(decoded(t, got), decoded(t, want)) {
			t.Errorf("quirks %v: %s", quirks, got)
		}
	}
	if none, quirk := string(array(encoding{}, nil, nil, encoding{}.post)), string(array(encoding{true}, nil, nil, encoding{true}.post)); none != "[]" || quirk != "{}" {
		t.Errorf("an empty array is %s, with quirks %s", none, quirk)
	}
}

// Any text is a JSON string that means it, and JSON is UTF-8.
func FuzzQuote(f *testing.F) {
	for _, text := range []string{"", "plain", "\"\\\n\x00\x7f\u2028", "é\xff€\xc3", "\ufffd"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted := quote(nil, text)
		var back string
		if err := json.Unmarshal(quoted, &back); err != nil || !utf8.Valid(quoted) {
			t.Fatalf("%q became %q: %v", text, quoted, err)
		}
		if want := string([]rune(text)); back != want { // invalid bytes become U+FFFD one by one
			t.Errorf("%q came back as %q", text, back)
		}
	})
}
