package media

import (
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/web"
)

const (
	filmsAPage   = 25
	longestQuery = 200 // bytes
)

func (f *frontend) filmsPage(w http.ResponseWriter, r *http.Request) error {
	query := web.ParseParams(nil, r.URL.RawQuery)
	text, err := query.Text("q", longestQuery)
	if err != nil {
		return err
	}
	after, err := query.Text("after", longestName)
	if err != nil {
		return err
	}
	films, err := f.beginningWith(r.Context(), text, after, filmsAPage+1)
	if err == nil && len(films) == 0 && likeTitle(text) != text {
		text = likeTitle(text)
		films, err = f.beginningWith(r.Context(), text, after, filmsAPage+1)
	}
	if err != nil {
		return err
	}
	more := url.Values{"q": {text}}
	if len(films) > filmsAPage {
		films = films[:filmsAPage]
		more.Set("after", films[filmsAPage-1].Title)
	}
	return f.show(w, r, http.StatusOK, "films", struct {
		Query  string
		Later  bool // not the first page
		Films  []*idl.MovieTitle
		IsMore bool
		More   string
	}{text, after != "", films, more.Has("after"), "/?" + more.Encode()})
}

// likeTitle gives words the capitals that they have in titles.
func likeTitle(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if i > 0 && (word == "of" || word == "and" || word == "the") {
			continue
		}
		first, size := utf8.DecodeRuneInString(word)
		words[i] = string(unicode.ToUpper(first)) + word[size:]
	}
	return strings.Join(words, " ")
}

type actor struct{ Character, Name, Intro string }

func (f *frontend) filmPage(w http.ResponseWriter, r *http.Request) error {
	start, err := startOf(r)
	if err != nil {
		return err
	}
	page, err := f.page.ReadPage(r.Context(), requestID(), r.PathValue("film"), start, start+reviewsAPage+1, nil)
	if err != nil {
		return err
	}
	return f.show(w, r, http.StatusOK, "film", struct {
		Film    *idl.MovieInfo
		Plot    string
		Actors  []actor
		Reviews stretch
	}{page.MovieInfo, page.Plot, actorsOf(page), stretchOf(start, page.Reviews)})
}

// actorsOf joins the parts of a film with what is known of those who play them.
func actorsOf(page *idl.Page) []actor {
	known := map[int64]*idl.CastInfo{}
	for _, info := range page.CastInfos {
		known[info.CastInfoID] = info
	}
	actors := make([]actor, len(page.MovieInfo.Casts))
	for i, cast := range page.MovieInfo.Casts {
		actors[i].Character = cast.Character
		if info := known[cast.CastInfoID]; info != nil {
			actors[i].Name, actors[i].Intro = info.Name, info.Intro
		}
	}
	return actors
}
