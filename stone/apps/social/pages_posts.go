package social

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/web"
)

// postsOnPage is how many posts a page shows.
const postsOnPage = 20

// timeline is a list of posts on a page, and where others are.
type timeline struct {
	Posts        []shownPost
	Empty        string // said where there is no post
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

func (f *frontend) sendCompose(w http.ResponseWriter, r *http.Request, session accounts.Session) error {
	upload, err := web.ReadUpload(w, r)
	if err != nil {
		return err
	}
	if err := f.post(r, upload, session); err != nil {
		problem := f.site.Explain(r, err)
		if problem.Status == http.StatusForbidden {
			return err
		}
		return f.showCompose(w, r, problem.Status, upload.Fields.Get("text"), problem.Text)
	}
	http.Redirect(w, r, profilePath(session.Username), http.StatusSeeOther)
	return nil
}

// post passes each file of a form on as it comes, then makes the post. Our forms send their fields before their files.
func (f *frontend) post(r *http.Request, upload *web.Upload, session accounts.Session) error {
	file, err := upload.Next()
	if err != nil {
		return err
	}
	if err := f.sessions.CheckForm(r, upload.Fields.Get("form")); err != nil {
		return err
	}
	text := upload.Fields.Get("text")
	if text == "" {
		return web.Problemf(http.StatusBadRequest, "Your post has no text: write some.")
	}
	if err := checkText(text); err != nil { // before any picture is stored
		return err
	}
	var ids []int64
	var types []string
	for ; file != nil; file, err = upload.Next() {
		if len(ids) == mostMedia {
			return web.Problemf(http.StatusBadRequest, "A post has at most %d pictures and films.", mostMedia)
		}
		id, kind, err := f.storeMedium(r, file)
		if err != nil {
			return err
		}
		ids, types = append(ids, id), append(types, kind)
	}
	if err != nil {
		return err
	}
	return f.compose.ComposePost(r.Context(), requestID(), session.Username, session.UserID, text, ids, types, idl.PostType_POST, nil)
}

// storeMedium streams a file to the media front end and returns its id and type there.
func (f *frontend) storeMedium(r *http.Request, file *multipart.Part) (int64, string, error) {
	reader, writer := io.Pipe()
	defer reader.Close()
	form := multipart.NewWriter(writer)
	go func() {
		part, err := form.CreateFormFile("media", file.FileName())
		if err == nil {
			_, err = io.Copy(part, file)
		}
		writer.CloseWithError(errors.Join(err, form.Close()))
	}()
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, "http://media-frontend/upload-media", reader)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", form.FormDataContentType())
	response, err := f.media.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return 0, "", err
	}
	return storedMedium(response.StatusCode, answer)
}

func storedMedium(status int, answer []byte) (int64, string, error) {
	var stored struct {
		ID   json.Number `json:"media_id"` // text or number
		Type string      `json:"media_type"`
	}
	if status != http.StatusOK {
		return 0, "", &web.Problem{Status: status, Text: strings.TrimSpace(string(answer))}
	}
	if err := json.Unmarshal(answer, &stored); err != nil {
		return 0, "", fmt.Errorf("media-frontend: %.100q: %w", answer, err)
	}
	id, err := stored.ID.Int64()
	return id, stored.Type, err
}
