package media_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"loadstone.dev/stone/apps/media/data"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/redis"
	"loadstone.dev/stone/platform/servertest"
)

// Every service, over real stores.
func TestServices(t *testing.T) {
	for name, store := range map[string]func(testing.TB) string{"postgres": postgres, "mongo": servertest.Mongo} {
		t.Run(name, func(t *testing.T) {
			a := startAppOn(t, "", store)
			a.register(t, 5)
			for name, test := range map[string]func(*testing.T, *app){
				"accounts": testAccounts, "registrations at once": testRegistrationsAtOnce,
				"films": testFilms, "ratings": testRatings,
				"a review": testReview, "orders of parts": testOrdersOfParts, "parts at once": testPartsAtOnce,
				"a part that comes twice": testPartTwice, "parts that are lost": testLostParts,
				"lists": testLists, "films' descriptions": testMovieInfo, "average ratings": testUpdateRating,
				"cast": testCast, "plots": testPlots, "pages": testPages, "wrong input": testWrongInput,
			} {
				t.Run(name, func(t *testing.T) { test(t, a) })
			}
		})
	}
}

func testAccounts(t *testing.T, a *app) {
	ctx := t.Context()
	for range 2 { // store, cache
		token, err := a.users.Login(ctx, 1, "username_1", "password_1", nil)
		if err != nil || strings.Count(token, ".") != 2 {
			t.Errorf("%q, %v", token, err)
		}
		for username, password := range map[string]string{"username_1": "password_2", "nobody": "password_1", "no body": "x", "": ""} {
			_, err := a.users.Login(ctx, 1, username, password, nil)
			expectException(t, err, idl.ErrorCode_SE_UNAUTHORIZED, "the username or the password is wrong")
		}
	}
	err := a.users.RegisterUser(ctx, 1, "first", "last", "username_1", "other", nil)
	expectException(t, err, idl.ErrorCode_SE_CONFLICT, "User username_1 already existed")
	err = a.users.RegisterUserWithId(ctx, 1, "first", "last", "someone", "other", 1, nil)
	expectException(t, err, idl.ErrorCode_SE_CONFLICT, "or another has the id 1")
	check(t, a.users.RegisterUser(ctx, 1, "first", "last", "new", "password", nil))
	var account data.User
	check(t, data.Users.In(a.store).Get(ctx, &account, documents.Equal("username", "new")))
	if account.UserID <= 0 || account.FirstName != "first" || strings.Contains(account.Password, "password") || !strings.HasPrefix(account.Password, "$2") {
		t.Errorf("%+v", account)
	}
	_, err = a.users.UploadUserWithUsername(ctx, 1, "unknown", nil)
	expectException(t, err, idl.ErrorCode_SE_NOT_FOUND, "User unknown is not registered")
}

// Of several who want the same name one gets it.
func testRegistrationsAtOnce(t *testing.T, a *app) {
	register := func() error {
		return a.users.RegisterUser(t.Context(), 1, "first", "last", "wanted", "password", nil)
	}
	conflicts := func(err error) bool {
		var raised *idl.ServiceException
		return errors.As(err, &raised) && raised.ErrorCode == idl.ErrorCode_SE_CONFLICT
	}
	var all sync.WaitGroup
	var got, unknown atomic.Int64
	for range 3 {
		all.Go(func() {
			err := register()
			for err != nil && !conflicts(err) { // on a slow machine hashes take longer than a call may
				unknown.Add(1)
				err = register()
			}
			if err == nil {
				got.Add(1)
			}
		})
	}
	all.Wait()
	count, err := data.Users.In(a.store).Count(t.Context(), documents.Equal("username", "wanted"))
	if one := got.Load() == 1 || got.Load() == 0 && unknown.Load() > 0; !one || count != 1 || err != nil {
		t.Errorf("%d got the name, %d may have, %d have it, %v", got.Load(), unknown.Load(), count, err)
	}
	expectException(t, register(), idl.ErrorCode_SE_CONFLICT, "User wanted already existed")
}

func testFilms(t *testing.T, a *app) {
	ctx := t.Context()
	long := strings.Repeat("long ", 200)
	for i, title := range []string{"Ünïcode & blanks", long + "1", long + "2"} {
		check(t, a.films.RegisterMovieId(ctx, 1, title, fmt.Sprint("z", i), nil))
	}
	for range 2 { // store, cache
		for _, title := range []string{"Ünïcode & blanks", long + "1", long + "2"} {
			if _, err := a.films.UploadMovieId(ctx, rand.Int64(), title, 1, nil); err != nil {
				t.Error(err)
			}
		}
	}
	_, err := a.films.UploadMovieId(ctx, 1, "no such film", 1, nil)
	expectException(t, err, idl.ErrorCode_SE_NOT_FOUND, "Movie no such film is not registered")
	for title, id := range map[string]string{"title 1": "other", "other": "movie_1"} {
		err := a.films.RegisterMovieId(ctx, 1, title, id, nil)
		expectException(t, err, idl.ErrorCode_SE_CONFLICT, "already existed")
	}
	var titles []string
	for after := ""; ; after = titles[len(titles)-1] {
		page, err := a.films.ListMovies(ctx, 1, after, 3, nil)
		check(t, err)
		for _, film := range page {
			titles = append(titles, film.Title)
			if rest, is := strings.CutPrefix(film.Title, "title "); is && film.MovieID != "movie_"+rest {
				t.Errorf("%v", film)
			}
		}
		if len(page) < 3 {
			break
		}
	}
	if !slices.IsSorted(titles) || len(titles) != 8 || titles[2] != "title 0" {
		t.Errorf("%.20q", titles)
	}
}

func testRatings(t *testing.T, a *app) {
	for i, mark := range []int32{3, 10, 0} {
		if _, err := a.ratings.UploadRating(t.Context(), int64(2000+i), "rated", mark, nil); err != nil {
			t.Error(err)
		}
	}
	client, err := redis.Open(8, "", a.Links["redis-rating"].Address)
	check(t, err)
	defer client.Close()
	sums, err := client.MGet(t.Context(), "rated:uncommit_sum", "rated:uncommit_num").Result()
	if err != nil || fmt.Sprint(sums) != "[13 3]" {
		t.Errorf("%v, %v", sums, err)
	}
	for _, mark := range []int32{-1, 11} {
		_, err := a.ratings.UploadRating(t.Context(), 2000, "rated", mark, nil)
		expectException(t, err, idl.ErrorCode_SE_INVALID, "rating")
	}
}

func testMovieInfo(t *testing.T, a *app) {
	ctx := t.Context()
	casts := []*idl.Cast{{CastID: 1, Character: "Hero", CastInfoID: 1<<62 + 1}, {CastID: 2, Character: "Villain", CastInfoID: 2}}
	want := &idl.MovieInfo{
		MovieID: "a film", Title: "Title", Casts: casts, PlotID: 1<<62 + 3, ThumbnailIds: []string{"t"},
		PhotoIds: []string{"p", "q"}, VideoIds: []string{}, AvgRating: 7.25, NumRating: 4,
	}
	write := func() error {
		return a.infos.WriteMovieInfo(ctx, 1, want.MovieID, want.Title, casts, want.PlotID, want.ThumbnailIds, want.PhotoIds, want.VideoIds, "7.25", 4, nil)
	}
	_, err := a.infos.ReadMovieInfo(ctx, 1, want.MovieID, nil)
	expectException(t, err, idl.ErrorCode_SE_NOT_FOUND, "there is no movie a film")
	check(t, write())
	expectException(t, write(), idl.ErrorCode_SE_CONFLICT, "movie a film already existed")
	read := func() {
		t.Helper()
		if got, err := a.infos.ReadMovieInfo(ctx, 1, want.MovieID, nil); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	}
	read()
	check(t, data.MovieInfos.In(a.store).Clear(ctx))
	read() // from the cache
	for _, average := range []string{"", "seven", "NaN", "Inf", "1e999"} {
		err := a.infos.WriteMovieInfo(ctx, 1, "x", "x", nil, 1, nil, nil, nil, average, 4, nil)
		expectException(t, err, idl.ErrorCode_SE_INVALID, "avg_rating")
	}
}

// Updates at the same time all count, in the store and in what is read through the cache.
func testUpdateRating(t *testing.T, a *app) {
	ctx := t.Context()
	check(t, a.infos.WriteMovieInfo(ctx, 1, "updated", "x", nil, 1, nil, nil, nil, "5", 1, nil))
	const callers, each = 5, 4
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				if err := a.infos.UpdateRating(ctx, 1, "updated", 20, 2, nil); err != nil {
					t.Error(err)
				}
				if _, err := a.infos.ReadMovieInfo(ctx, 1, "updated", nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got, err := a.infos.ReadMovieInfo(ctx, 1, "updated", nil)
	const ratings = 1 + 2*callers*each
	if err != nil || got.NumRating != ratings || math.Abs(got.AvgRating-(5+20.0*callers*each)/ratings) > 1e-9 {
		t.Errorf("%v, %v", got, err)
	}
	expectException(t, a.infos.UpdateRating(ctx, 1, "none", 20, 2, nil), idl.ErrorCode_SE_NOT_FOUND, "there is no movie none")
	expectException(t, a.infos.UpdateRating(ctx, 1, "updated", 20, 0, nil), idl.ErrorCode_SE_INVALID, "not 1 or more")
	expectException(t, a.infos.UpdateRating(ctx, 1, "updated", 20, math.MaxInt32, nil), idl.ErrorCode_SE_INVALID, "too many")
}

func testCast(t *testing.T, a *app) {
	ctx := t.Context()
	for id := range int64(3) {
		check(t, a.actors.WriteCastInfo(ctx, 1, id, fmt.Sprint("name ", id), id == 1, "intro", nil))
	}
	err := a.actors.WriteCastInfo(ctx, 1, 1, "other", false, "", nil)
	expectException(t, err, idl.ErrorCode_SE_CONFLICT, "cast 1 already existed")
	for round := range 2 { // store, cache
		got, err := a.actors.ReadCastInfo(ctx, 1, []int64{2, 99, 1, 2}, nil)
		if err != nil || len(got) != 3 || got[0].Name != "name 2" || !got[1].Gender || *got[2] != *got[0] {
			t.Errorf("%v, %v", got, err)
		}
		if round == 0 {
			check(t, data.CastInfos.In(a.store).Clear(ctx))
		}
	}
	if got, err := a.actors.ReadCastInfo(ctx, 1, nil, nil); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func testPlots(t *testing.T, a *app) {
	ctx := t.Context()
	check(t, a.plots.WritePlot(ctx, 1, 1, "They meet.", nil))
	expectException(t, a.plots.WritePlot(ctx, 1, 1, "They part.", nil), idl.ErrorCode_SE_CONFLICT, "plot 1 already existed")
	for range 2 { // store, cache
		if got, err := a.plots.ReadPlot(ctx, 1, 1, nil); got != "They meet." || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		check(t, data.Plots.In(a.store).Clear(ctx))
	}
	_, err := a.plots.ReadPlot(ctx, 1, 2, nil)
	expectException(t, err, idl.ErrorCode_SE_NOT_FOUND, "there is no plot 2")
}

func testPages(t *testing.T, a *app) {
	ctx := t.Context()
	casts := []*idl.Cast{{CastID: 1, CastInfoID: 71}, {CastID: 2, CastInfoID: 72}, {CastID: 3, CastInfoID: 73}}
	check(t, a.infos.WriteMovieInfo(ctx, 1, "movie_3", "title 3", casts, 70, nil, nil, nil, "5", 1, nil))
	check(t, a.actors.WriteCastInfo(ctx, 1, 72, "second", false, "", nil))
	check(t, a.actors.WriteCastInfo(ctx, 1, 71, "first", false, "", nil))
	check(t, a.review(t, 3, 3, "older"))
	check(t, a.review(t, 4, 3, "newer"))
	page, err := a.pages.ReadPage(ctx, 1, "movie_3", 0, 10, nil)
	check(t, err)
	if page.MovieInfo.Title != "title 3" || page.Plot != "" || len(page.CastInfos) != 2 || page.CastInfos[0].Name != "first" ||
		!slices.Equal(texts(page.Reviews), []string{"newer", "older"}) {
		t.Errorf("%v", page)
	}
	check(t, a.plots.WritePlot(ctx, 1, 70, "plot", nil))
	if page, err = a.pages.ReadPage(ctx, 1, "movie_3", 1, 2, nil); err != nil || page.Plot != "plot" || !slices.Equal(texts(page.Reviews), []string{"older"}) {
		t.Errorf("%v, %v", page, err)
	}
	_, err = a.pages.ReadPage(ctx, 1, "movie_none", 0, 10, nil)
	expectException(t, err, idl.ErrorCode_SE_NOT_FOUND, "there is no movie movie_none")
	_, err = a.pages.ReadPage(ctx, 1, "movie_3", 2, 1, nil)
	expectException(t, err, idl.ErrorCode_SE_INVALID, "stop: 1 is less than start, 2")
}

func testWrongInput(t *testing.T, a *app) {
	ctx := t.Context()
	tooLong, tooLongName := strings.Repeat("x", 64<<10+1), strings.Repeat("x", 1025)
	many := make([]int64, 1001)
	upload := func(_ bool, err error) error { return err }
	for words, err := range map[string]error{
		"text: 65537 bytes are more than 65536":   upload(a.texts.UploadText(ctx, 9, tooLong, nil)),
		"text: contains a NUL":                    upload(a.texts.UploadText(ctx, 9, "a\x00b", nil)),
		"text: not UTF-8":                         upload(a.texts.UploadText(ctx, 9, "\xff", nil)),
		"title: is empty":                         upload(a.films.UploadMovieId(ctx, 9, "", 1, nil)),
		"rating: 11 is not from 0 to 10":          upload(a.films.UploadMovieId(ctx, 9, "title 1", 11, nil)),
		"title: 1025 bytes are more than 1024":    a.films.RegisterMovieId(ctx, 9, tooLongName, "id", nil),
		"movie_id: is empty":                      a.films.RegisterMovieId(ctx, 9, "title", "", nil),
		"user: id -1 is negative":                 upload(a.users.UploadUserWithUserId(ctx, 9, -1, nil)),
		"first name: 1025 bytes":                  a.users.RegisterUser(ctx, 9, tooLongName, "", "name", "password", nil),
		"letters (a-z), digits, - and _":          a.users.RegisterUser(ctx, 9, "", "", "a b", "password", nil),
		"the password has 73 bytes":               a.users.RegisterUser(ctx, 9, "", "", "name", strings.Repeat("x", 73), nil),
		"plot: id -2 is negative":                 a.plots.WritePlot(ctx, 9, -2, "", nil),
		"plot: 65537 bytes":                       a.plots.WritePlot(ctx, 9, 9, tooLong, nil),
		"intro: not UTF-8":                        a.actors.WriteCastInfo(ctx, 9, 9, "", false, "\xff", nil),
		"num_rating: -1 is negative":              a.infos.WriteMovieInfo(ctx, 9, "x", "x", nil, 1, nil, nil, nil, "1", -1, nil),
		"casts: 1001 are more than 1000":          a.infos.WriteMovieInfo(ctx, 9, "x", "x", make1001(), 1, nil, nil, nil, "1", 1, nil),
		"photo_ids: contains a NUL":               a.infos.WriteMovieInfo(ctx, 9, "x", "x", nil, 1, nil, []string{"\x00"}, nil, "1", 1, nil),
		"cast_info_ids: 1001 are more than 1000":  second(a.actors.ReadCastInfo(ctx, 9, many, nil)),
		"start: -1 is negative":                   second(a.byUser.ReadUserReviews(ctx, 9, 1, -1, 2, nil)),
		"stop: 1001 reviews after start are more": second(a.byFilm.ReadMovieReviews(ctx, 9, "movie_1", 5, 1006, nil)),
		"limit: 0 is not from 1 to 1000":          second(a.films.ListMovies(ctx, 9, "", 0, nil)),
		"timestamp: id -1 is negative":            a.byUser.UploadUserReview(ctx, 9, 1, 1, -1, nil),
		"movie_id: contains a NUL":                a.byFilm.UploadMovieReview(ctx, 9, "a\x00whole", 1, 1, nil),
		"rating: -1 is not from 0 to 10":          a.storage.StoreReview(ctx, 9, &idl.Review{MovieID: "x", Rating: -1}, nil),
	} {
		expectException(t, err, idl.ErrorCode_SE_INVALID, words)
	}
}

func make1001() []*idl.Cast {
	casts := make([]*idl.Cast, 1001)
	for i := range casts {
		casts[i] = &idl.Cast{}
	}
	return casts
}

func second[T any](_ T, err error) error { return err }
