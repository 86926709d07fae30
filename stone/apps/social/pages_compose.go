package social

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/web"
)

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
