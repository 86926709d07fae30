package social

import (
	"slices"
	"strings"
	"unicode/utf8"

	idl "loadstone.dev/stone/apps/social/idl/social"
)

// What a post can have. Each service checks what it is given; compose-post checks all of it before anything is stored.
const (
	longestText  = 64 << 10 // bytes
	longestName  = 256      // bytes of a first or last name, and of the author's that a post tells
	mostMentions = 1000
	mostURLs     = 1000
	mostMedia    = 64
	mostRange    = 1000 // posts of a timeline at once
)

var mediaTypes = []string{"png", "jpg", "jpeg", "gif", "webp", "mp4"}

// checkText checks the text of a post.
func checkText(text string) error {
	if len(text) > longestText {
		return exception.Invalid("text: %d bytes are more than %d", len(text), longestText)
	}
	if err := checkWords("text", text); err != nil {
		return err
	}
	if count := len(findMentions(text)); count > mostMentions {
		return exception.Invalid("text: %d mentions are more than %d", count, mostMentions)
	}
	if count := len(findURLs(text)); count > mostURLs {
		return exception.Invalid("text: %d URLs are more than %d", count, mostURLs)
	}
	return nil
}

// checkName checks a user's name.
func checkName(name, text string) error {
	if len(text) > longestName {
		return exception.Invalid("%s: %d bytes are more than %d", name, len(text), longestName)
	}
	return checkWords(name, text)
}

// checkWords refuses what the stores cannot keep alike.
func checkWords(name, text string) error {
	switch {
	case !utf8.ValidString(text):
		return exception.Invalid("%s: not UTF-8", name)
	case strings.Contains(text, "\x00"):
		return exception.Invalid("%s: contains a NUL", name)
	}
	return nil
}

// checkMedia checks what a post shows: types and ids belong together by position.
func checkMedia(types []string, ids []int64) error {
	if len(types) != len(ids) {
		return exception.Invalid("media: %d types for %d ids", len(types), len(ids))
	}
	if len(ids) > mostMedia {
		return exception.Invalid("media: %d are more than %d", len(ids), mostMedia)
	}
	for i, kind := range types {
		if !slices.Contains(mediaTypes, kind) {
			return exception.Invalid("media: %.20q is no type of media; those are %s", kind, strings.Join(mediaTypes, ", "))
		}
		if err := checkID("media", ids[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkID checks an id of a user, a post or a medium.
func checkID(name string, id int64) error {
	if id < 0 {
		return exception.Invalid("%s: id %d is negative", name, id)
	}
	return nil
}

// checkPostType checks that a post is of a kind that there is.
func checkPostType(kind idl.PostType) error {
	if kind < idl.PostType_POST || kind > idl.PostType_DM {
		return exception.Invalid("post type %d: there are %d (post) to %d (direct message)", kind, idl.PostType_POST, idl.PostType_DM)
	}
	return nil
}

// checkRange checks a range of posts of a timeline: from start up to, not including, stop.
func checkRange(start, stop int32) error {
	switch {
	case start < 0:
		return exception.Invalid("start: %d is negative", start)
	case stop < start:
		return exception.Invalid("stop: %d is less than start, %d", stop, start)
	case stop-start > mostRange:
		return exception.Invalid("stop: %d posts after start are more than %d", stop-start, mostRange)
	}
	return nil
}
