package media_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"loadstone.dev/stone/apps/media"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/servertest"
)

// app is the whole of Media in this process, with two replicas of compose-review, over real stores.
type app struct {
	*apptest.App
	store   documents.Store
	users   idl.UserService
	films   idl.MovieIdService
	texts   idl.TextService
	ids     idl.UniqueIdService
	ratings idl.RatingService
	compose idl.ComposeReviewService
	storage idl.ReviewStorageService
	byFilm  idl.MovieReviewService
	byUser  idl.UserReviewService
	infos   idl.MovieInfoService
	actors  idl.CastInfoService
	plots   idl.PlotService
	pages   idl.PageService
}

func startApp(t *testing.T, profile string) *app {
	t.Helper()
	return startAppOn(t, profile, postgres)
}

// postgres is one server for eight services, which takes no more than 100 connections.
func postgres(t testing.TB) string { return servertest.Postgres(t) + "&pool_max_conns=8" }

// startAppOn starts stores and services and waits until all are ready. A test that needs the same of it as others shares
// it with them, as subtests.
func startAppOn(t *testing.T, profile string, store func(testing.TB) string) *app {
	t.Helper()
	return startTraced(t, "", profile, store)
}

func startTraced(t *testing.T, collector, profile string, store func(testing.TB) string) *app {
	t.Helper()
	a := &app{App: apptest.StartTraced(t, collector, "media", media.Services, profile, store, "compose-review")}
	a.store = a.Store()
	a.users = idl.NewUserServiceClient(a.Thrift("user"))
	a.films = idl.NewMovieIdServiceClient(a.Thrift("movie-id"))
	a.texts = idl.NewTextServiceClient(a.Thrift("text"))
	a.ids = idl.NewUniqueIdServiceClient(a.Thrift("unique-id"))
	a.ratings = idl.NewRatingServiceClient(a.Thrift("rating"))
	a.compose = idl.NewComposeReviewServiceClient(a.Thrift("compose-review"))
	a.storage = idl.NewReviewStorageServiceClient(a.Thrift("review-storage"))
	a.byFilm = idl.NewMovieReviewServiceClient(a.Thrift("movie-review"))
	a.byUser = idl.NewUserReviewServiceClient(a.Thrift("user-review"))
	a.infos = idl.NewMovieInfoServiceClient(a.Thrift("movie-info"))
	a.actors = idl.NewCastInfoServiceClient(a.Thrift("cast-info"))
	a.plots = idl.NewPlotServiceClient(a.Thrift("plot"))
	a.pages = idl.NewPageServiceClient(a.Thrift("page"))
	a.WaitReady()
	return a
}

// register makes the users "username_<id>" with the password "password_<id>", and the films "title <id>".
func (a *app) register(t *testing.T, count int64) {
	t.Helper()
	for id := range count {
		number := fmt.Sprint(id)
		err := errors.Join(
			a.users.RegisterUserWithId(t.Context(), 1, "first", "last", "username_"+number, "password_"+number, id, nil),
			a.films.RegisterMovieId(t.Context(), 1, "title "+number, "movie_"+number, nil))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// review writes a review as the front end does: four services at the same time. Its text tells it from others.
func (a *app) review(t *testing.T, user, film int64, text string) error {
	req := rand.Int64()
	completed, errs := make([]bool, 4), make([]error, 4)
	var all sync.WaitGroup
	for i, upload := range []func() (bool, error){
		func() (bool, error) {
			return a.users.UploadUserWithUsername(t.Context(), req, fmt.Sprintf("username_%d", user), nil)
		},
		func() (bool, error) {
			return a.films.UploadMovieId(t.Context(), req, fmt.Sprintf("title %d", film), 7, nil)
		},
		func() (bool, error) { return a.texts.UploadText(t.Context(), req, text, nil) },
		func() (bool, error) { return a.ids.UploadUniqueId(t.Context(), req, nil) },
	} {
		all.Go(func() { completed[i], errs[i] = upload() })
	}
	all.Wait()
	count := 0
	for _, one := range completed {
		if one {
			count++
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if count != 1 {
		return fmt.Errorf("%d uploads completed the review", count)
	}
	return nil
}

// reviewsOf are the texts of a user's and of a film's reviews.
func (a *app) reviewsOf(t *testing.T, user, film int64) (byUser, byFilm []string) {
	t.Helper()
	users, err := a.byUser.ReadUserReviews(t.Context(), 1, user, 0, 1000, nil)
	if err != nil {
		t.Fatal(err)
	}
	films, err := a.byFilm.ReadMovieReviews(t.Context(), 1, fmt.Sprintf("movie_%d", film), 0, 1000, nil)
	if err != nil {
		t.Fatal(err)
	}
	return texts(users), texts(films)
}

func texts(reviews []*idl.Review) []string {
	list := []string{}
	for _, one := range reviews {
		list = append(list, one.Text)
	}
	return list
}

// expectException fails unless an error is an exception of this code whose message has these words.
func expectException(t *testing.T, err error, code idl.ErrorCode, words string) {
	t.Helper()
	var raised *idl.ServiceException
	if !errors.As(err, &raised) || raised.ErrorCode != code || !strings.Contains(raised.Message, words) {
		t.Errorf("%v; want %s with %q", err, code, words)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
