package media

import (
	"context"
	"math"
	"net/http"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/platform/web"
)

var errIncomplete = web.Problemf(http.StatusBadRequest, "Incomplete arguments")

// routeAPI serves what load generators ask. As published, any method will do, and a path is served with anything behind
// it: load scripts double it.
func (f *frontend) routeAPI(mux *http.ServeMux) {
	for path, answer := range map[string]web.Handler{
		"user/register":    f.form(f.registerUser, "first_name", "last_name", "username", "password"),
		"movie/register":   f.form(f.registerMovie, "title", "movie_id"),
		"review/compose":   f.form(f.composeAs, "username", "password", "title", "rating", "text"),
		"movie-info/write": f.writeMovieInfo,
		"cast-info/write":  f.writeCastInfo,
		"plot/write":       f.writePlot,
		// Ours.
		"user/login": f.login,
		"page":       f.readPage,
		"movie/list": f.listMovies,
	} {
		handler := f.site.Handle(answer)
		mux.HandleFunc("/wrk2-api/"+path, handler)
		mux.HandleFunc("/wrk2-api/"+path+"/", handler)
	}
}

// form is a handler of a form that must have these fields, and whose success is an empty answer.
func (f *frontend) form(do func(context.Context, web.Params) error, fields ...string) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		params, err := web.ReadParams(w, r)
		if err != nil {
			return err
		}
		if err := require(params, fields...); err != nil {
			return err
		}
		return do(r.Context(), params)
	}
}

func require(params web.Params, names ...string) error {
	for _, name := range names {
		if params.Get(name) == "" {
			return errIncomplete
		}
	}
	return nil
}

func (f *frontend) registerUser(ctx context.Context, params web.Params) error {
	return f.user.RegisterUser(ctx, requestID(), params.Get("first_name"), params.Get("last_name"),
		params.Get("username"), params.Get("password"), nil)
}

func (f *frontend) registerMovie(ctx context.Context, params web.Params) error {
	return f.movieID.RegisterMovieId(ctx, requestID(), params.Get("title"), params.Get("movie_id"), nil)
}

// composeAs writes a review as any user: as published, the password has to be there and is not looked at.
func (f *frontend) composeAs(ctx context.Context, params web.Params) error {
	return f.compose(ctx, params.Get("username"), params.Get("title"), params)
}

// compose has four services contribute to a review at the same time. It returns once the review is stored.
func (f *frontend) compose(ctx context.Context, username, title string, params web.Params) error {
	mark, err := params.Integer("rating", math.MinInt32, math.MaxInt32)
	if err != nil {
		return err
	}
	// Each service checks what it is given; this is so that no part is taken of a review that cannot be.
	words := params.Get("text")
	if err := firstOf(checkRating(mark, f.quirks), checkText("text", words), checkName("title", title)); err != nil {
		return err
	}
	id := requestID()
	var uploads errgroup.Group
	var completed [4]bool
	for i, upload := range []func() (bool, error){
		func() (bool, error) { return f.user.UploadUserWithUsername(ctx, id, username, nil) },
		func() (bool, error) { return f.movieID.UploadMovieId(ctx, id, title, mark, nil) },
		func() (bool, error) { return f.text.UploadText(ctx, id, words, nil) },
		func() (bool, error) { return f.uniqueID.UploadUniqueId(ctx, id, nil) },
	} {
		uploads.Go(func() (err error) {
			completed[i], err = upload()
			return err
		})
	}
	if err := uploads.Wait(); err != nil {
		return err
	}
	if completed == [4]bool{} {
		return web.Problemf(http.StatusInternalServerError, "parts of the review were lost on the way; it is not stored")
	}
	return nil
}

func (f *frontend) login(w http.ResponseWriter, r *http.Request) error {
	params, err := web.ReadParams(w, r)
	if err != nil {
		return err
	}
	if err := require(params, "username", "password"); err != nil {
		return err
	}
	token, err := f.user.Login(r.Context(), requestID(), params.Get("username"), params.Get("password"), nil)
	if err != nil {
		return err
	}
	return sendJSON(w, map[string]string{"token": token})
}
