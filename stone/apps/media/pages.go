package media

import (
	"context"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/web"
)

//go:embed pages/icon.svg
var icon []byte

const (
	filmsAPage   = 25
	reviewsAPage = 25
	longestQuery = 200 // bytes
)

var pageFunctions = template.FuncMap{
	"path": url.PathEscape,
	"time": func(milliseconds int64) time.Time { return time.UnixMilli(milliseconds).UTC() },
	"marks": func() []int { // the best first
		var marks []int
		for mark := greatestMark; mark >= 0; mark-- {
			marks = append(marks, mark)
		}
		return marks
	},
}

func (f *frontend) routePages(mux *http.ServeMux) {
	for pattern, answer := range map[string]web.Handler{
		"GET /{$}":                f.filmsPage,
		"GET /film/{film}":        f.filmPage,
		"POST /film/{film}/write": f.writeReview,
		"GET /user/{user}":        f.userPage,
		"GET /login":              f.loginPage,
		"POST /login":             f.logIn,
		"GET /register":           f.registerPage,
		"POST /register":          f.signUp,
		"POST /logout":            f.logOut,
		"/": func(http.ResponseWriter, *http.Request) error {
			return web.Problemf(http.StatusNotFound, "there is no such page")
		},
	} {
		mux.HandleFunc(pattern, f.site.HandleWith(answer, f.problemPage))
	}
	mux.HandleFunc("GET /style.css", web.StyleSheet)
	mux.HandleFunc("GET /icon.svg", web.Asset("image/svg+xml", icon))
}

// view is what a template gets.
type view struct {
	Session *accounts.Session // nil: nobody is logged in
	Form    string            // token of forms
	Here    string            // the page's address, to come back to after a login
	Data    any
}

func (f *frontend) show(w http.ResponseWriter, r *http.Request, status int, page string, data any) error {
	here := "/"
	if r.Method == http.MethodGet && status == http.StatusOK {
		here = r.URL.RequestURI()
	}
	return f.pages.Show(w, status, page, view{f.session(r), f.sessions.FormToken(w, r), here, data})
}

func (f *frontend) problemPage(w http.ResponseWriter, r *http.Request, problem *web.Problem) {
	if err := f.show(w, r, problem.Status, "problem", problem); err != nil {
		http.Error(w, problem.Text, problem.Status)
	}
}

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

// shown is a review on a page.
type shown struct {
	*idl.Review
	Title string // of its film, where the page is not the film's
}

// stretch is the reviews that a page shows.
type stretch struct {
	List         []shown
	First, Last  int // counted from 1, the newest
	Newer, Older int // where those begin; -1: there are none
	Average      float64
}

// stretchOf takes one review more than are shown, if there are more.
func stretchOf(start int32, reviews []*idl.Review) stretch {
	count := min(len(reviews), reviewsAPage)
	s := stretch{First: int(start) + 1, Last: int(start) + count, Newer: -1, Older: -1}
	if start > 0 {
		s.Newer = int(max(0, start-reviewsAPage))
	}
	if len(reviews) > count {
		s.Older = s.Last
	}
	for _, review := range reviews[:count] {
		s.List = append(s.List, shown{Review: review})
		s.Average += float64(review.Rating) / float64(count)
	}
	return s
}

func startOf(r *http.Request) (int32, error) {
	query := web.ParseParams(nil, r.URL.RawQuery)
	if query.Get("start") == "" {
		return 0, nil
	}
	return query.Integer("start", 0, 1<<30)
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

func (f *frontend) userPage(w http.ResponseWriter, r *http.Request) error {
	user, err := strconv.ParseInt(r.PathValue("user"), 10, 64)
	if err != nil || user < 0 {
		return web.Problemf(http.StatusNotFound, "there is no such user")
	}
	start, err := startOf(r)
	if err != nil {
		return err
	}
	reviews, err := f.userReviews.ReadUserReviews(r.Context(), requestID(), user, start, start+reviewsAPage+1, nil)
	if err != nil {
		return err
	}
	stretch := stretchOf(start, reviews)
	var reading errgroup.Group
	for i := range stretch.List {
		reading.Go(func() error { return f.addTitle(r.Context(), &stretch.List[i]) })
	}
	if err := reading.Wait(); err != nil {
		return err
	}
	return f.show(w, r, http.StatusOK, "user", struct {
		User    int64
		Reviews any
	}{user, stretch})
}

// addTitle finds out what a review is about. A film that is not described is called by its id.
func (f *frontend) addTitle(ctx context.Context, review *shown) error {
	film, err := f.movieInfo.ReadMovieInfo(ctx, requestID(), review.MovieID, nil)
	switch {
	case err == nil:
		review.Title = film.Title
	case isNotFound(err):
		review.Title = review.MovieID
	default:
		return err
	}
	return nil
}

// writeReview takes the form of a film's page.
func (f *frontend) writeReview(w http.ResponseWriter, r *http.Request) error {
	session := f.session(r)
	if session == nil {
		return web.Problemf(http.StatusUnauthorized, "nobody is logged in any more: log in, and write the review again")
	}
	params, err := f.ownForm(w, r)
	if err != nil {
		return err
	}
	if err := require(params, "rating", "text"); err != nil {
		return web.Problemf(http.StatusBadRequest, "the review is empty: give a mark and write a text")
	}
	film, err := f.movieInfo.ReadMovieInfo(r.Context(), requestID(), r.PathValue("film"), nil)
	if err != nil {
		return err
	}
	if err := f.compose(r.Context(), session.Username, film.Title, params); err != nil {
		return err
	}
	http.Redirect(w, r, "/film/"+url.PathEscape(film.MovieID), http.StatusSeeOther)
	return nil
}
