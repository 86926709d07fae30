package web

import (
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"unicode/utf8"
)

// LargestUpload bounds the body of a request that uploads a file, in bytes.
const LargestUpload = 100 << 20

// ReadJSON decodes a body of one JSON value; what is no such value is a Problem.
func ReadJSON(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, LargestBody))
	if err != nil {
		return badBody(err)
	}
	if !utf8.Valid(body) { // which would be decoded to something else
		return Problemf(http.StatusBadRequest, "body: not UTF-8")
	}
	if err := json.Unmarshal(body, into); err != nil {
		return badBody(err)
	}
	return nil
}

// Upload reads a multipart form as it comes, without keeping it.
type Upload struct {
	Fields Params // those read so far
	parts  *multipart.Reader
}

// ReadUpload begins to read a multipart form of at most LargestUpload bytes.
func ReadUpload(w http.ResponseWriter, r *http.Request) (*Upload, error) {
	r.Body = http.MaxBytesReader(w, r.Body, LargestUpload)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, Problemf(http.StatusBadRequest, "body: not multipart/form-data")
	}
	return &Upload{parts: parts}, nil
}

// Next reads fields up to the next file, which is nil at the end of the form. A file has a name; browsers send one that
// is empty where none was chosen.
func (u *Upload) Next() (*multipart.Part, error) {
	for {
		part, err := u.parts.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil
		case err != nil:
			return nil, badBody(err)
		case part.FileName() != "":
			return part, nil
		}
		if err := u.field(part); err != nil {
			return nil, err
		}
	}
}

const mostFields = 100

func (u *Upload) field(part *multipart.Part) error {
	value, err := io.ReadAll(io.LimitReader(part, LargestBody+1))
	switch {
	case err != nil:
		return badBody(err)
	case len(value) > LargestBody || len(u.Fields) == mostFields:
		return Problemf(http.StatusRequestEntityTooLarge, "body: more than %d fields or %d bytes in one", mostFields, LargestBody)
	}
	u.Fields = append(u.Fields, Param{part.FormName(), string(value)})
	return nil
}

// badBody is the asker's fault unless it says that the body is too large, which has a status of its own.
func badBody(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return err
	}
	return Problemf(http.StatusBadRequest, "body: %v", err)
}
