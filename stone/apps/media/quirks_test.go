package media_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/media/data"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/redis"
)

func TestQuirks(t *testing.T) {
	a := startApp(t, "dsb-quirks")
	a.register(t, 3)
	ctx := t.Context()
	t.Run("passwords are hashed fast", func(t *testing.T) {
		var account data.User
		check(t, data.Users.In(a.store).Get(ctx, &account, documents.Equal("username", "username_1")))
		if len(account.Password) != 64 || len(account.Salt) != 32 {
			t.Errorf("%+v", account)
		}
		for range 2 { // store, cache
			if _, err := a.users.Login(ctx, 1, "username_1", "password_1", nil); err != nil {
				t.Error(err)
			}
			_, err := a.users.Login(ctx, 1, "username_1", "password_2", nil)
			expectException(t, err, idl.ErrorCode_SE_UNAUTHORIZED, "")
		}
		err := a.users.RegisterUser(ctx, 1, "first", "last", "username_1", "other", nil)
		expectException(t, err, idl.ErrorCode_SE_CONFLICT, "User username_1 already existed")
	})
	t.Run("a part that comes twice counts twice", func(t *testing.T) {
		req := rand.Int64()
		parts := a.parts(t, req)
		for i, part := range []int{0, 1, 2, 3, 3} {
			completed, err := parts[part]()
			if completed {
				t.Errorf("upload %d completed the review", i)
			}
			if last := i == 4; last {
				expectException(t, err, idl.ErrorCode_SE_MEMCACHED_ERROR, "lost parts")
			} else if err != nil {
				t.Error(err)
			}
		}
		if completed, err := parts[4](); completed || err != nil {
			t.Errorf("the sixth upload: %v, %v", completed, err)
		}
		if found := a.stored(t, req); len(found) != 0 {
			t.Errorf("stored: %v", found)
		}
	})
	t.Run("any number is a rating", func(t *testing.T) {
		if _, err := a.ratings.UploadRating(ctx, rand.Int64(), "movie_2", 1000, nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("lists are put into Redis by their readers", func(t *testing.T) {
		client, err := redis.Open(8, "", a.Links["redis-movie-review"].Address)
		check(t, err)
		defer client.Close()
		held := func() int64 { return client.ZCard(ctx, "movie_1").Val() }
		check(t, a.review(t, 1, 1, "first"))
		if held() != 0 {
			t.Errorf("%d reviews are in Redis before they are read", held())
		}
		a.reviewsOf(t, 1, 1)
		check(t, a.review(t, 1, 1, "second"))
		if held() != 2 {
			t.Errorf("%d reviews are in Redis", held())
		}
		if byUser, byFilm := a.reviewsOf(t, 1, 1); !slices.Equal(byFilm, []string{"second", "first"}) || !slices.Equal(byUser, byFilm) {
			t.Errorf("%q, %q", byUser, byFilm)
		}
	})
	t.Run("a wrong range is empty", func(t *testing.T) {
		for _, wrong := range [][2]int32{{-1, 5}, {5, 4}, {3, 3}} {
			if got, err := a.byFilm.ReadMovieReviews(ctx, 1, "movie_1", wrong[0], wrong[1], nil); err != nil || len(got) != 0 {
				t.Errorf("%v: %v, %v", wrong, got, err)
			}
		}
	})
	t.Run("what is incomplete is an error", func(t *testing.T) {
		_, err := a.storage.ReadReviews(ctx, 1, []int64{1}, nil)
		expectException(t, err, idl.ErrorCode_SE_THRIFT_HANDLER_ERROR, "incomplete")
		_, err = a.actors.ReadCastInfo(ctx, 1, []int64{1}, nil)
		expectException(t, err, idl.ErrorCode_SE_THRIFT_HANDLER_ERROR, "incomplete")
		check(t, a.infos.WriteMovieInfo(ctx, 1, "movie_1", "title 1", nil, 70, nil, nil, nil, "5", 1, nil))
		_, err = a.pages.ReadPage(ctx, 1, "movie_1", 0, 10, nil)
		expectException(t, err, idl.ErrorCode_SE_NOT_FOUND, "there is no plot 70")
	})
	t.Run("reviews are not indexed", func(t *testing.T) {
		twice := &idl.Review{ReviewID: 5, MovieID: "movie_0", Text: strings.Repeat("x", 10)}
		for range 2 {
			check(t, a.storage.StoreReview(ctx, 1, twice, nil))
		}
	})
}
