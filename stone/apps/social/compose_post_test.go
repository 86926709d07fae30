package social

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	idl "loadstone.dev/stone/apps/social/idl/social"
)

// contributors stand in for all services that compose-post calls, and record their calls.
type contributors struct {
	// What is not overridden below is not called.
	idl.UserService
	idl.PostStorageService
	idl.UserTimelineService
	idl.HomeTimelineService

	t       *testing.T
	mutex   sync.Mutex
	called  []string
	stored  *idl.Post
	fail    map[string]error
	waiting sync.WaitGroup // for the four that are called at the same time
}

func compose(t *testing.T) (*composePost, *contributors) {
	h := &contributors{t: t, fail: make(map[string]error)}
	h.waiting.Add(4)
	return &composePost{texts: h, users: h, media: h, ids: h, posts: h, userTimelines: h, homeTimelines: h}, h
}

func (h *contributors) heard(format string, arguments ...any) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	call := fmt.Sprintf(format, arguments...)
	h.called = append(h.called, call)
	name, _, _ := strings.Cut(call, " ")
	return h.fail[name]
}

// together waits until all four are called.
func (h *contributors) together() {
	all := make(chan struct{})
	go func() { h.waiting.Wait(); close(all) }()
	h.waiting.Done()
	select {
	case <-all:
	case <-time.After(time.Minute):
		h.t.Error("the four are not called at the same time")
	}
}

func (h *contributors) ComposeText(_ context.Context, req int64, text string, carrier map[string]string) (*idl.TextServiceReturn, error) {
	err := h.heard("text %d %s %v", req, text, carrier)
	h.together()
	return &idl.TextServiceReturn{
		Text: "short " + text, UserMentions: []*idl.UserMention{{UserID: 8, Username: "eight"}, {UserID: 9, Username: "nine"}},
		Urls: []*idl.URL{{ShortenedURL: "http://s/1", ExpandedURL: "http://long"}},
	}, err
}

func (h *contributors) ComposeCreatorWithUserId(_ context.Context, req, user int64, name string, carrier map[string]string) (*idl.Creator, error) {
	err := h.heard("user %d %d %s %v", req, user, name, carrier)
	h.together()
	return &idl.Creator{UserID: user, Username: name}, err
}

func (h *contributors) ComposeMedia(_ context.Context, req int64, types []string, ids []int64, carrier map[string]string) ([]*idl.Media, error) {
	err := h.heard("media %d %v %v %v", req, types, ids, carrier)
	h.together()
	media := make([]*idl.Media, min(len(ids), len(types)))
	for i := range media {
		media[i] = &idl.Media{MediaID: ids[i], MediaType: types[i]}
	}
	return media, err
}

func (h *contributors) ComposeUniqueId(_ context.Context, req int64, kind idl.PostType, carrier map[string]string) (int64, error) {
	err := h.heard("id %d %v %v", req, kind, carrier)
	h.together()
	return 77, err
}

func (h *contributors) StorePost(_ context.Context, req int64, post *idl.Post, carrier map[string]string) error {
	h.stored = post
	return h.heard("store %d %d %v", req, post.PostID, carrier)
}

func (h *contributors) WriteUserTimeline(_ context.Context, req, post, user, timestamp int64, carrier map[string]string) error {
	return h.heard("user-timeline %d %d %d %v %v", req, post, user, timestamp == h.stored.Timestamp, carrier)
}

func (h *contributors) WriteHomeTimeline(_ context.Context, req, post, user, timestamp int64, mentioned []int64, carrier map[string]string) error {
	return h.heard("home-timeline %d %d %d %v %v %v", req, post, user, timestamp == h.stored.Timestamp, mentioned, carrier)
}

func TestAPostIsComposed(t *testing.T) {
	c, h := compose(t)
	before := time.Now().UnixMilli()
	carrier := map[string]string{"trace": "x"}
	check(t, c.ComposePost(t.Context(), 5, "six", 6, "words", []int64{1, 2}, []string{"png", "mp4"}, idl.PostType_REPLY, carrier))
	slices.Sort(h.called[:4]) // these come in any order
	if want := []string{
		"id 5 REPLY map[trace:x]", "media 5 [png mp4] [1 2] map[trace:x]", "text 5 words map[trace:x]", "user 5 6 six map[trace:x]",
		"store 5 77 map[trace:x]", "user-timeline 5 77 6 true map[trace:x]", "home-timeline 5 77 6 true [8 9] map[trace:x]",
	}; !slices.Equal(h.called, want) {
		t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(h.called, "\n"), strings.Join(want, "\n"))
	}
	if now := time.Now().UnixMilli(); h.stored.Timestamp < before || h.stored.Timestamp > now {
		t.Errorf("composed at %d, between %d and %d", h.stored.Timestamp, before, now)
	}
	h.stored.Timestamp = 0
	if want := (&idl.Post{
		PostID: 77, Creator: &idl.Creator{UserID: 6, Username: "six"}, ReqID: 5, Text: "short words",
		UserMentions: []*idl.UserMention{{UserID: 8, Username: "eight"}, {UserID: 9, Username: "nine"}},
		Media:        []*idl.Media{{MediaID: 1, MediaType: "png"}, {MediaID: 2, MediaType: "mp4"}},
		Urls:         []*idl.URL{{ShortenedURL: "http://s/1", ExpandedURL: "http://long"}}, PostType: idl.PostType_REPLY,
	}); !reflect.DeepEqual(h.stored, want) {
		t.Errorf("stored %v, want %v", h.stored, want)
	}
}

func TestWhatFailsEndsTheComposition(t *testing.T) {
	for name, calls := range map[string]int{
		"text": 4, "user": 4, "media": 4, "id": 4, "store": 5, "user-timeline": 6, "home-timeline": 7,
	} {
		c, h := compose(t)
		refusal := exception.Conflict("%s does not like it", name)
		h.fail[name] = refusal
		err := c.ComposePost(t.Context(), 5, "six", 6, "words", nil, nil, idl.PostType_POST, nil)
		if !errors.Is(err, refusal) || len(h.called) != calls {
			t.Errorf("%s: %v after %q", name, err, h.called)
		}
	}
}

func TestAWrongPostIsRefusedBeforeAnyCall(t *testing.T) {
	tooMany := make([]int64, mostMedia+1)
	for name, post := range map[string]func(*composePost) error{
		"text: 65537 bytes":        composing("six", 6, strings.Repeat("x", longestText+1), nil, nil, 0),
		"text: 1001 mentions":      composing("six", 6, strings.Repeat("@a ", mostMentions+1), nil, nil, 0),
		"text: 1001 URLs":          composing("six", 6, strings.Repeat("http://a ", mostURLs+1), nil, nil, 0),
		"text: not UTF-8":          composing("six", 6, "\xff", nil, nil, 0),
		"text: contains a NUL":     composing("six", 6, "a\x00b", nil, nil, 0),
		"username: 257 bytes":      composing(strings.Repeat("x", longestName+1), 6, "x", nil, nil, 0),
		"username: not UTF-8":      composing("\xff", 6, "x", nil, nil, 0),
		"user: id -6":              composing("six", -6, "x", nil, nil, 0),
		"media: 1 types for 2 ids": composing("six", 6, "x", []int64{1, 2}, []string{"png"}, 0),
		"media: 65":                composing("six", 6, "x", tooMany, slices.Repeat([]string{"png"}, mostMedia+1), 0),
		`media: "exe"`:             composing("six", 6, "x", []int64{1}, []string{"exe"}, 0),
		"media: id -1":             composing("six", 6, "x", []int64{-1}, []string{"png"}, 0),
		"post type 4":              composing("six", 6, "x", nil, nil, 4),
		"post type -1":             composing("six", 6, "x", nil, nil, -1),
	} {
		c, h := compose(t)
		err := post(c)
		if code(err) != idl.ErrorCode_SE_INVALID || !strings.HasPrefix(err.(*idl.ServiceException).Message, name) || len(h.called) != 0 {
			t.Errorf("%s: %v after %q", name, err, h.called)
		}
		quirky, h := compose(t)
		quirky.quirks = true
		if err := post(quirky); err != nil || len(h.called) != 7 {
			t.Errorf("%s: with quirks it is left to others: %v after %q", name, err, h.called)
		}
	}
}

func composing(name string, user int64, text string, ids []int64, types []string, kind idl.PostType) func(*composePost) error {
	return func(c *composePost) error {
		return c.ComposePost(context.Background(), 5, name, user, text, ids, types, kind, nil)
	}
}
