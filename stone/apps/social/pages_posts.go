package social

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/accounts"
)

// postsOnPage is how many posts a page shows.
const postsOnPage = 20

// timeline is a list of posts on a page, and where others are.
type timeline struct {
	Posts        []shownPost
	Empty        string // shown where there is no post
	Newer, Older string
}

type shownPost struct {
	Author string
	Time   time.Time
	Pieces []piece
	Media  []shownMedium
}

type shownMedium struct {
	Source string
	Film   bool
}

// writing is the form of a new post.
type writing struct{ Text, Form string }

func (f *frontend) homePage(w http.ResponseWriter, r *http.Request, session accounts.Session) error {
	posts, err := f.timelinePage(r, session.UserID, f.readHome, "Nothing yet. Find someone and follow them, and what they post appears here.")
	if err != nil {
		return err
	}
	return f.show(w, r, http.StatusOK, "home", view{Title: "Home", Here: "home", Body: struct {
		Writing  writing
		Timeline timeline
	}{writing{Form: f.sessions.FormToken(w, r)}, posts}})
}

// timelinePage reads what a page shows of a timeline: one post more than that says whether there are older ones.
func (f *frontend) timelinePage(r *http.Request, user int64, read reading, empty string) (timeline, error) {
	from := pageStart(r)
	posts, err := read(r, user, int32(from), int32(from+postsOnPage+1))
	if err != nil {
		return timeline{}, err
	}
	shown := timeline{Empty: empty}
	shown.Newer, shown.Older = turning(r, from, postsOnPage, len(posts) > postsOnPage)
	for _, post := range posts[:min(len(posts), postsOnPage)] {
		shown.Posts = append(shown.Posts, showPost(post))
	}
	return shown, nil
}

// pageStart is the "from" of a page's address; what is no number is the beginning.
func pageStart(r *http.Request) int {
	from, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil || from < 0 || from > 1<<30 {
		return 0
	}
	return from
}

// turning is where the pages before and after one are.
func turning(r *http.Request, from, length int, more bool) (before, after string) {
	if from > 0 {
		before = fmt.Sprintf("%s?from=%d", r.URL.EscapedPath(), max(0, from-length))
	}
	if more {
		after = fmt.Sprintf("%s?from=%d", r.URL.EscapedPath(), from+length)
	}
	return before, after
}

func showPost(post *idl.Post) shownPost {
	shown := shownPost{Author: post.Creator.GetUsername(), Time: time.UnixMilli(post.Timestamp).UTC(), Pieces: pieces(post)}
	for _, one := range post.Media {
		source := fmt.Sprintf("/get-media?filename=%d.%s", one.MediaID, one.MediaType)
		shown.Media = append(shown.Media, shownMedium{source, one.MediaType == "mp4"})
	}
	return shown
}

func (f *frontend) composePage(w http.ResponseWriter, r *http.Request, _ accounts.Session) error {
	return f.showCompose(w, r, http.StatusOK, "", "")
}

func (f *frontend) showCompose(w http.ResponseWriter, r *http.Request, status int, text, problem string) error {
	return f.show(w, r, status, "compose", view{
		Title: "Write a post", Here: "compose", Problem: problem, Body: writing{text, f.sessions.FormToken(w, r)},
	})
}
