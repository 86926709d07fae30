package social

import (
	"net/http"
	"strconv"
	"sync"
	"unicode/utf8"

	idl "loadstone.dev/stone/apps/social/idl/social"
)

// encoding writes answers as JSON, without reflection: timelines are most of what the front end does. Quirk: 64-bit
// numbers are strings and empty arrays are objects.
type encoding struct{ quirks bool }

func (f *frontend) encoding() encoding { return encoding{f.quirks} }

// buffers keeps those of answers; one that grew beyond largestKept is let go.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const largestKept = 256 << 10

// send writes an answer that fill appends.
func send(w http.ResponseWriter, fill func(to []byte) []byte) {
	buffer := buffers.Get().(*[]byte)
	*buffer = append(fill((*buffer)[:0]), '\n')
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(*buffer)))
	_, _ = w.Write(*buffer) // fails only if the asker went away
	if cap(*buffer) <= largestKept {
		buffers.Put(buffer)
	}
}

// say answers a line of text.
func say(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text + "\n"))
}

func (e encoding) posts(w http.ResponseWriter, posts []*idl.Post) {
	send(w, func(to []byte) []byte { return array(e, to, posts, e.post) })
}

// users answers ids as objects of one field.
func (e encoding) users(w http.ResponseWriter, field string, ids []int64) {
	send(w, func(to []byte) []byte {
		return array(e, to, ids, func(to []byte, id int64) []byte {
			to = append(append(append(to, `{"`...), field...), `":`...)
			return append(e.id(to, id), '}')
		})
	})
}

func array[T any](e encoding, to []byte, list []T, element func([]byte, T) []byte) []byte {
	if len(list) == 0 && e.quirks {
		return append(to, `{}`...)
	}
	to = append(to, '[')
	for i, one := range list {
		if i > 0 {
			to = append(to, ',')
		}
		to = element(to, one)
	}
	return append(to, ']')
}

func (e encoding) post(to []byte, post *idl.Post) []byte {
	to = e.id(append(to, `{"post_id":`...), post.PostID)
	to = append(to, `,"creator":`...)
	if creator := post.Creator; creator != nil {
		to = e.user(to, creator.UserID, creator.Username)
	} else {
		to = append(to, `null`...)
	}
	to = e.id(append(to, `,"req_id":`...), post.ReqID)
	to = quote(append(to, `,"text":`...), post.Text)
	to = array(e, append(to, `,"user_mentions":`...), post.UserMentions, func(to []byte, one *idl.UserMention) []byte {
		return e.user(to, one.UserID, one.Username)
	})
	to = array(e, append(to, `,"media":`...), post.Media, func(to []byte, one *idl.Media) []byte {
		to = e.id(append(to, `{"media_id":`...), one.MediaID)
		return append(quote(append(to, `,"media_type":`...), one.MediaType), '}')
	})
	to = array(e, append(to, `,"urls":`...), post.Urls, func(to []byte, one *idl.URL) []byte {
		to = quote(append(to, `{"shortened_url":`...), one.ShortenedURL)
		return append(quote(append(to, `,"expanded_url":`...), one.ExpandedURL), '}')
	})
	to = e.id(append(to, `,"timestamp":`...), post.Timestamp)
	to = strconv.AppendInt(append(to, `,"post_type":`...), int64(post.PostType), 10)
	return append(to, '}')
}

func (e encoding) user(to []byte, id int64, name string) []byte {
	to = e.id(append(to, `{"user_id":`...), id)
	return append(quote(append(to, `,"username":`...), name), '}')
}

func (e encoding) id(to []byte, id int64) []byte {
	if !e.quirks {
		return strconv.AppendInt(to, id, 10)
	}
	return append(strconv.AppendInt(append(to, '"'), id, 10), '"')
}

// quote appends a JSON string; what is not UTF-8 becomes U+FFFD.
func quote(to []byte, text string) []byte {
	to = append(to, '"')
	plain := 0 // text from here on needs no escape
	for i := 0; i < len(text); {
		letter := text[i]
		if letter >= ' ' && letter != '"' && letter != '\\' && letter < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		if letter >= utf8.RuneSelf {
			var whole rune
			if whole, size = utf8.DecodeRuneInString(text[i:]); whole != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		to = escape(append(to, text[plain:i]...), letter)
		i += size
		plain = i
	}
	return append(append(to, text[plain:]...), '"')
}

func escape(to []byte, letter byte) []byte {
	const digits = "0123456789abcdef"
	switch {
	case letter == '"' || letter == '\\':
		return append(to, '\\', letter)
	case letter == '\n':
		return append(to, `\n`...)
	case letter >= utf8.RuneSelf:
		return append(to, `\ufffd`...)
	}
	return append(to, '\\', 'u', '0', '0', digits[letter>>4], digits[letter&15])
}
