package social

import (
	"errors"
	"strings"
	"testing"

	idl "loadstone.dev/stone/apps/social/idl/social"
)

func TestLimits(t *testing.T) {
	mentions, urls := strings.Repeat("@a ", mostMentions), strings.Repeat("http://x ", mostURLs)
	media := func(count int) error {
		types := make([]string, count)
		for i := range types {
			types[i] = mediaTypes[i%len(mediaTypes)]
		}
		return checkMedia(types, make([]int64, count))
	}
	for want, err := range map[string]error{
		"text: 65537 bytes are more than 65536":                                      checkText(strings.Repeat("x", longestText+1)),
		"text: not UTF-8":                                                            checkText("caf\xe9"),
		"text: contains a NUL":                                                       checkText("a\x00"),
		"text: 1001 mentions are more than 1000":                                     checkText(mentions + "@a"),
		"text: 1001 URLs are more than 1000":                                         checkText(urls + "https://y"),
		"media: 1 types for 2 ids":                                                   checkMedia([]string{"png"}, []int64{1, 2}),
		"media: 65 are more than 64":                                                 media(mostMedia + 1),
		"media: id -1 is negative":                                                   checkMedia([]string{"png"}, []int64{-1}),
		"user: id -1 is negative":                                                    checkID("user", -1),
		"post type -1: there are 0 (post) to 3 (direct message)":                     checkPostType(-1),
		"post type 4: there are 0 (post) to 3 (direct message)":                      checkPostType(4),
		"start: -1 is negative":                                                      checkRange(-1, 10),
		"stop: 1 is less than start, 2":                                              checkRange(2, 1),
		"stop: 1001 posts after start are more than 1000":                            checkRange(1, 1002),
		`media: "exe" is no type of media; those are png, jpg, jpeg, gif, webp, mp4`: checkMedia([]string{"exe"}, []int64{1}),
	} {
		var raised *idl.ServiceException
		if !errors.As(err, &raised) || raised.ErrorCode != idl.ErrorCode_SE_INVALID || raised.Message != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for what, err := range map[string]error{
		"no text": checkText(""), "longest text": checkText(strings.Repeat("x", longestText)), "text": checkText("à la carte"),
		"most mentions and URLs": checkText(mentions + urls), "no media": media(0), "most media": media(mostMedia),
		"greatest id": checkID("user", 1<<63-1), "id 0": checkID("user", 0), "first type": checkPostType(0), "last type": checkPostType(3),
		"no posts": checkRange(5, 5), "most posts": checkRange(1<<31-1001, 1<<31-1),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
