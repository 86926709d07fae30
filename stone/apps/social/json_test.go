package social

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

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
		got := sent(func(w http.ResponseWriter) { e.posts(w, []*idl.Post{examplePost(), {PostID: 1}}) })
		if !reflect.DeepEqual(decoded(t, got), decoded(t, want)) {
			t.Errorf("quirks %v: %s", quirks, got)
		}
	}
	for quirks, want := range map[bool]string{false: "[]\n", true: "{}\n"} {
		if got := sent(func(w http.ResponseWriter) { encoding{quirks}.posts(w, nil) }); got != want {
			t.Errorf("quirks %v: an empty array is %q", quirks, got)
		}
	}
}

func TestIDsAsJSON(t *testing.T) {
	for quirks, want := range map[bool]string{false: `[{"follower_id":7}]`, true: `[{"follower_id":"7"}]`} {
		if got := sent(func(w http.ResponseWriter) { encoding{quirks}.users(w, "follower_id", []int64{7}) }); got != want+"\n" {
			t.Errorf("quirks %v: %q", quirks, got)
		}
	}
}

// sent is what an answer says, whose length its header says.
func sent(answer func(http.ResponseWriter)) string {
	recorder := httptest.NewRecorder()
	answer(recorder)
	if recorder.Header().Get("Content-Length") != strconv.Itoa(recorder.Body.Len()) {
		return "a wrong length: " + recorder.Header().Get("Content-Length")
	}
	return recorder.Body.String()
}
