package media

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"unicode/utf8"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/web"
)

const (
	mostListed    = 1000 // films at once
	defaultListed = 100
)

// readPage answers what the page of a film shows, found by its id or its title, with its reviews from start up to but not
// including stop, the newest first.
func (f *frontend) readPage(w http.ResponseWriter, r *http.Request) error {
	params, err := web.ReadParams(w, r)
	if err != nil {
		return err
	}
	if err := require(params, "start", "stop"); err != nil {
		return err
	}
	start, err := params.Integer("start", math.MinInt32, math.MaxInt32)
	if err != nil {
		return err
	}
	stop, err := params.Integer("stop", math.MinInt32, math.MaxInt32)
	if err != nil {
		return err
	}
	id := params.Get("movie_id")
	if id == "" {
		if id, err = f.idOf(r.Context(), params.Get("title")); err != nil {
			return err
		}
	}
	page, err := f.page.ReadPage(r.Context(), requestID(), id, start, stop, nil)
	if err != nil {
		return err
	}
	return sendJSON(w, page)
}

// idOf finds a film by its title.
func (f *frontend) idOf(ctx context.Context, title string) (string, error) {
	if title == "" {
		return "", errIncomplete
	}
	if err := checkName("title", title); err != nil {
		return "", err
	}
	films, err := f.movieID.ListMovies(ctx, requestID(), before(title), 1, nil)
	if err != nil {
		return "", err
	}
	if len(films) == 0 || films[0].Title != title {
		return "", exception.NotFound("Movie %s is not registered", title)
	}
	return films[0].MovieID, nil
}

// listMovies answers films in the order of their titles, those after one.
func (f *frontend) listMovies(w http.ResponseWriter, r *http.Request) error {
	params, err := web.ReadParams(w, r)
	if err != nil {
		return err
	}
	after, err := params.Text("after", longestName)
	if err != nil {
		return err
	}
	limit := int32(defaultListed)
	if params.Get("limit") != "" {
		if limit, err = params.Integer("limit", 1, mostListed); err != nil {
			return err
		}
	}
	films, err := f.movieID.ListMovies(r.Context(), requestID(), after, limit, nil)
	if err != nil {
		return err
	}
	return sendJSON(w, films)
}

// beginningWith lists films whose titles begin with a text, at most limit of those after a title.
func (f *frontend) beginningWith(ctx context.Context, text, after string, limit int32) ([]*idl.MovieTitle, error) {
	films, err := f.movieID.ListMovies(ctx, requestID(), max(after, before(text)), limit, nil)
	if err != nil {
		return nil, err
	}
	for i, film := range films {
		if !strings.HasPrefix(film.Title, text) {
			return films[:i], nil
		}
	}
	return films, nil
}

// before is a text that in the order of titles, which is that of bytes, comes before this one and after all titles that
// are less: the last letter's neighbour and a letter that ends no title.
func before(text string) string {
	last, size := utf8.DecodeLastRuneInString(text)
	if size == 0 || last == 0 {
		return ""
	}
	neighbour := last - 1
	if neighbour == 0xDFFF { // between 0xD7FF and 0xE000 there are no letters
		neighbour = 0xD7FF
	}
	return text[:len(text)-size] + string(neighbour) + string(utf8.MaxRune)
}

func sendJSON(w http.ResponseWriter, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(text) // fails only if the asker went away
	return nil
}
