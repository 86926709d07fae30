package media

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"golang.org/x/sync/errgroup"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/web"
)

const reviewsAPage = 25

// shown is a review on a page.
type shown struct {
	*idl.Review
	Title string // title of its film, where the page is not the film's
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
	case exception.IsNotFound(err):
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
		return web.Problemf(http.StatusUnauthorized, "you are not logged in any more: log in, and write the review again")
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
