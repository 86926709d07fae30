package social

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	idl "loadstone.dev/stone/apps/social/idl/social"
)

// encoding writes answers as JSON. Quirk: 64-bit numbers are strings and empty arrays are objects.
type encoding struct{ quirks bool }

func (f *frontend) encoding() encoding { return encoding{f.quirks} }

// buffers keeps those of answers; one that grew beyond largestKept is let go.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const largestKept = 256 << 10

// send writes an answer.
func send(w http.ResponseWriter, answer any) {
	buffer := buffers.Get().(*bytes.Buffer)
	buffer.Reset()
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil { // not of what is sent here: numbers, texts, and lists of them
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(buffer.Len()))
	_, _ = w.Write(buffer.Bytes()) // fails only if the asker went away
	if buffer.Cap() <= largestKept {
		buffers.Put(buffer)
	}
}

// say answers a line of text.
func say(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text + "\n"))
}

// postJSON is a post as the front end answers it. What is of type any is a number or a list, or by quirk another thing.
type postJSON struct {
	PostID       any       `json:"post_id"`
	Creator      *userJSON `json:"creator"`
	ReqID        any       `json:"req_id"`
	Text         string    `json:"text"`
	UserMentions any       `json:"user_mentions"`
	Media        any       `json:"media"`
	URLs         any       `json:"urls"`
	Timestamp    any       `json:"timestamp"`
	PostType     int64     `json:"post_type"`
}

type userJSON struct {
	UserID   any    `json:"user_id"`
	Username string `json:"username"`
}

type mediumJSON struct {
	MediaID   any    `json:"media_id"`
	MediaType string `json:"media_type"`
}

type urlJSON struct {
	ShortenedURL string `json:"shortened_url"`
	ExpandedURL  string `json:"expanded_url"`
}

func (e encoding) posts(w http.ResponseWriter, posts []*idl.Post) {
	send(w, array(e, posts, e.post))
}

// users answers ids as objects of one field.
func (e encoding) users(w http.ResponseWriter, field string, ids []int64) {
	send(w, array(e, ids, func(id int64) map[string]any { return map[string]any{field: e.number(id)} }))
}

func (e encoding) post(post *idl.Post) postJSON {
	view := postJSON{
		PostID: e.number(post.PostID), ReqID: e.number(post.ReqID), Text: post.Text,
		UserMentions: array(e, post.UserMentions, func(one *idl.UserMention) userJSON {
			return userJSON{e.number(one.UserID), one.Username}
		}),
		Media: array(e, post.Media, func(one *idl.Media) mediumJSON { return mediumJSON{e.number(one.MediaID), one.MediaType} }),
		URLs:  array(e, post.Urls, func(one *idl.URL) urlJSON { return urlJSON{one.ShortenedURL, one.ExpandedURL} }),

		Timestamp: e.number(post.Timestamp), PostType: int64(post.PostType),
	}
	if creator := post.Creator; creator != nil {
		view.Creator = &userJSON{e.number(creator.UserID), creator.Username}
	}
	return view
}

func (e encoding) number(value int64) any {
	if e.quirks {
		return strconv.FormatInt(value, 10)
	}
	return value
}

// array is never nil, which would be null.
func array[T, V any](e encoding, of []T, view func(T) V) any {
	if len(of) == 0 && e.quirks {
		return struct{}{}
	}
	views := make([]V, len(of))
	for i, one := range of {
		views[i] = view(one)
	}
	return views
}
