package social

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/uniqueid"
	"loadstone.dev/stone/platform/web"
)

// largestFile bounds an uploaded file, in bytes. The published bound is 100 MiB; a document store takes a file into memory,
// and MongoDB refuses documents above 16 MiB, names of fields included.
const largestFile = 16_000_000

// storeTimeout ends the wait for a store that does not answer, while the front end still listens.
const storeTimeout = web.CallTimeout / 2

// mediaFrontend takes and gives pictures and films. A file never changes.
type mediaFrontend struct {
	files  documents.Collection
	ids    *uniqueid.Generator
	quirks bool
}

func startMediaFrontend(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	prepareIndexes(host, store, data.Media)
	m := &mediaFrontend{files: data.Media.In(store), ids: newIDs(host), quirks: host.Config.Quirks}
	site := web.NewSite(host.Log, explain)
	host.HTTP = http.NewServeMux()
	host.HTTP.Handle("/upload-media", web.OpenToAll(site.Handle(m.upload)))
	host.HTTP.Handle("/get-media", web.OpenToAll(site.Handle(m.get)))
	return nil
}

// upload keeps the first file of a form and answers its id and type.
func (m *mediaFrontend) upload(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return onlyBy(w, "POST, OPTIONS")
	}
	form, err := web.ReadUpload(w, r)
	if err != nil {
		return err
	}
	part, err := form.Next()
	if err != nil {
		return err
	}
	if part == nil {
		return web.Problemf(http.StatusBadRequest, "body: no file; send one as a part that has a file name")
	}
	kind, err := m.kindOf(part.FileName())
	if err != nil {
		return err
	}
	content, err := m.read(part, kind)
	if err != nil {
		return err
	}
	id := strconv.FormatInt(m.ids.Next(), 10)
	ctx, cancel := context.WithTimeout(r.Context(), storeTimeout)
	defer cancel()
	if err := m.files.Insert(ctx, data.File{Filename: id + "." + kind, File: content}); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(map[string]string{"media_id": id, "media_type": kind})
}

// kindOf finds the type in the name of a file, such as "png".
//
// Quirk: it can be any.
func (m *mediaFrontend) kindOf(name string) (string, error) {
	kind := strings.TrimPrefix(path.Ext(name), ".")
	if m.quirks {
		return kind, checkWords("file name", kind)
	}
	kind = strings.ToLower(kind)
	if !slices.Contains(mediaTypes, kind) {
		return "", web.Problemf(http.StatusBadRequest, "file name: %.50q does not end in a type of media; those are %s", name, strings.Join(mediaTypes, ", "))
	}
	return kind, nil
}

// read reads a file whose content must be what its name says.
//
// Quirk: it can be anything.
func (m *mediaFrontend) read(part *multipart.Part, kind string) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(part, largestFile+1))
	switch {
	case err != nil:
		return nil, web.Problemf(http.StatusBadRequest, "body: %v", err)
	case len(content) > largestFile:
		return nil, web.Problemf(http.StatusRequestEntityTooLarge, "file: more than %d bytes", largestFile)
	}
	if is := http.DetectContentType(content); !m.quirks && is != contentType(kind) {
		return nil, web.Problemf(http.StatusBadRequest, "file: its content is %s, which is not %s", is, kind)
	}
	return content, nil
}

// get answers a file by the name "<id>.<type>", or the range of it that a player requests.
//
// Quirk: a name that no file has is answered by nothing, and a file is followed by a new line.
func (m *mediaFrontend) get(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return onlyBy(w, "GET, HEAD, OPTIONS")
	}
	params, err := web.ReadParams(w, r)
	if err != nil {
		return err
	}
	name := params.Get("filename")
	if name == "" {
		return web.Problemf(http.StatusBadRequest, "filename: missing; set it to <media_id>.<media_type>")
	}
	var file data.File
	ctx, cancel := context.WithTimeout(r.Context(), storeTimeout)
	defer cancel()
	err = m.files.Get(ctx, &file, documents.Equal("filename", name))
	switch {
	case errors.Is(err, documents.ErrUnstorable):
		return web.Problemf(http.StatusBadRequest, "filename: %v", err)
	case errors.Is(err, documents.ErrNotFound) && !m.quirks:
		return web.Problemf(http.StatusNotFound, "there is no file %.50q", name)
	case err != nil && !errors.Is(err, documents.ErrNotFound):
		return err
	}
	if m.quirks && err == nil {
		file.File = append(file.File, '\n')
	}
	header := w.Header()
	header.Set("Content-Type", contentType(strings.TrimPrefix(path.Ext(name), ".")))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file.File))
	return nil
}

func onlyBy(w http.ResponseWriter, methods string) error {
	w.Header().Set("Allow", methods)
	return web.Problemf(http.StatusMethodNotAllowed, "only by %s", methods)
}

// contentType is the media type of a type of file.
func contentType(kind string) string {
	switch kind {
	case "jpg":
		return "image/jpeg"
	case "mp4":
		return "video/mp4"
	default:
		return "image/" + kind
	}
}
