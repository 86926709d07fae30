package social

import (
	"reflect"
	"strings"
	"testing"

	idl "loadstone.dev/stone/apps/social/idl/social"
)

func TestLinksOfAText(t *testing.T) {
	post := &idl.Post{
		UserMentions: []*idl.UserMention{{UserID: 1, Username: "ann"}, {UserID: 2, Username: "b-o_b"}},
		Urls: []*idl.URL{
			{ShortenedURL: "http://short-url/aaaaaaaaaa", ExpandedURL: "https://example.org"},
			{ShortenedURL: "http://short-url/bbbbbbbbbb", ExpandedURL: "javascript:alert(1)"},
		},
	}
	plain := func(text string) piece { return piece{Text: text} }
	user := func(name string) piece { return piece{Text: "@" + name, To: "/users/" + name} }
	site := func(address string) piece { return piece{Text: address, To: address, Outside: true} }
	for text, want := range map[string][]piece{
		"":                      nil,
		"nothing here @ all":    {plain("nothing here @ all")},
		"@ann":                  {user("ann")},
		"hi @ann, @b-o_b!":      {plain("hi "), user("ann"), plain(", "), user("b-o_b"), plain("!")},
		"@annabel and @unknown": {plain("@annabel and @unknown")},
		"see http://short-url/aaaaaaaaaa/page?x=1.": {plain("see "), site("https://example.org/page?x=1"), plain(".")},
		"http://short-url/bbbbbbbbbb":               {plain("http://short-url/bbbbbbbbbb")},
		"(https://a.b/c) http:// https://":          {plain("("), site("https://a.b/c"), plain(") http:// https://")},
		"javascript:alert(1) hhttp://x.y":           {plain("javascript:alert(1) h"), site("http://x.y")},
		`http://x.y"onclick=z <b>`:                  {site("http://x.y"), plain(`"onclick=z <b>`)},
		"http://" + strings.Repeat("é", 60) + ".org": {{
			Text: "http://" + strings.Repeat("é", 53) + "…", To: "http://" + strings.Repeat("é", 60) + ".org", Outside: true,
		}},
	} {
		post.Text = text
		if got := pieces(post); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// Whatever is written, links lead to the web or to a user, and no text is lost but that of links.
func FuzzPieces(f *testing.F) {
	f.Add("@ann http://short-url/aaaaaaaaaa/x hh @", "https://long")
	f.Add("http://[::1]:80:@/", "javascript:x")
	f.Fuzz(func(t *testing.T, text, expanded string) {
		post := &idl.Post{
			Text: text, UserMentions: []*idl.UserMention{{Username: "ann"}},
			Urls: []*idl.URL{{ShortenedURL: "http://short-url/aaaaaaaaaa", ExpandedURL: expanded}},
		}
		rest := text
		for _, one := range pieces(post) {
			switch {
			case one.To == "":
				at := strings.Index(rest, one.Text)
				if at < 0 {
					t.Fatalf("%q is not in the rest of %q", one.Text, text)
				}
				rest = rest[at+len(one.Text):]
			case one.Outside && !strings.HasPrefix(strings.ToLower(one.To), "http://") && !strings.HasPrefix(strings.ToLower(one.To), "https://"),
				!one.Outside && one.To != "/users/ann":
				t.Errorf("%q links to %q", text, one.To)
			}
		}
	})
}
