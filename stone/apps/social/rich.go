package social

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	idl "loadstone.dev/stone/apps/social/idl/social"
)

// piece is a part of a post's text, which may be a link.
type piece struct {
	Text    string
	To      string // empty: no link
	Outside bool   // to another site
}

// pieces finds the links in a text: addresses, the shortened ones as what they stand for, and mentions of users.
func pieces(post *idl.Post) []piece {
	var list []piece
	text := post.Text
	plain := 0 // text from here on is no link
	for at := 0; at < len(text); {
		link, length := linkAt(post, text[at:])
		if link.To == "" {
			at += max(length, 1)
			continue
		}
		if plain < at {
			list = append(list, piece{Text: text[plain:at]})
		}
		list = append(list, link)
		at += length
		plain = at
	}
	if plain < len(text) {
		list = append(list, piece{Text: text[plain:]})
	}
	return list
}

// linkAt is the link that begins a text and its length there; without a link, how much of the text need not be looked at.
func linkAt(post *idl.Post, text string) (piece, int) {
	switch text[0] {
	case '@':
		return mentionAt(post, text)
	case 'h':
		return addressAt(post, text)
	}
	next := strings.IndexAny(text, "@h")
	if next < 0 {
		next = len(text)
	}
	return piece{}, next
}

func mentionAt(post *idl.Post, text string) (piece, int) {
	length := 1 + mentionLetters.count(text[1:])
	for _, one := range post.UserMentions {
		if one.Username == text[1:length] {
			return piece{Text: text[:length], To: "/users/" + url.PathEscape(one.Username)}, length
		}
	}
	return piece{}, length
}

func addressAt(post *idl.Post, text string) (piece, int) {
	if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		return piece{}, 1
	}
	length := strings.IndexFunc(text, func(letter rune) bool { return unicode.IsSpace(letter) || strings.ContainsRune(`"<>`, letter) })
	if length < 0 {
		length = len(text)
	}
	address := strings.TrimRight(text[:length], ".,;:!?)'")
	length = len(address)
	for _, one := range post.Urls {
		if rest, is := strings.CutPrefix(address, one.ShortenedURL); is {
			address = one.ExpandedURL + rest
			break
		}
	}
	if !isAddress(address) {
		return piece{}, 1
	}
	return piece{Text: shortened(address), To: address, Outside: true}, length
}

// isAddress says whether a link may lead there: to the web, by nothing that a browser would run.
func isAddress(text string) bool {
	parsed, err := url.Parse(text)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != ""
}

// longestShown bounds the characters of an address that are shown.
const longestShown = 60

func shortened(address string) string {
	if utf8.RuneCountInString(address) <= longestShown {
		return address
	}
	return string([]rune(address)[:longestShown]) + "…"
}
