package media_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"

	"loadstone.dev/stone/apps/media/data"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/documents"
)

// parts are the uploads of one request's review, whose text is the request's number.
func (a *app) parts(t *testing.T, req int64) []func() (bool, error) {
	ctx := t.Context()
	return []func() (bool, error){
		func() (bool, error) { return a.compose.UploadText(ctx, req, fmt.Sprint(req), nil) },
		func() (bool, error) { return a.compose.UploadRating(ctx, req, 9, nil) },
		func() (bool, error) { return a.compose.UploadMovieId(ctx, req, "movie_0", nil) },
		func() (bool, error) { return a.compose.UploadUniqueId(ctx, req, req, nil) },
		func() (bool, error) { return a.compose.UploadUserId(ctx, req, 0, nil) },
	}
}

// stored are the reviews of a request in the store.
func (a *app) stored(t *testing.T, req int64) []*data.Review {
	t.Helper()
	var found []*data.Review
	query := documents.Query{Where: []documents.Condition{documents.Equal("req_id", req)}}
	check(t, data.Reviews.In(a.store).Find(t.Context(), &found, query))
	return found
}

// expectOne fails unless a request's review was stored once and whole.
func (a *app) expectOne(t *testing.T, req int64) {
	t.Helper()
	found := a.stored(t, req)
	if len(found) != 1 {
		t.Fatalf("%d reviews of request %d", len(found), req)
	}
	one := found[0]
	if one.ReviewID != req || one.Text != fmt.Sprint(req) || one.Rating != 9 || one.MovieID != "movie_0" || one.UserID != 0 || one.Timestamp == 0 {
		t.Errorf("%+v", one)
	}
	byUser, byFilm := a.reviewsOf(t, 0, 0)
	if !slices.Contains(byUser, one.Text) || !slices.Contains(byFilm, one.Text) {
		t.Errorf("%q is not in both lists", one.Text)
	}
}

func testReview(t *testing.T, a *app) {
	check(t, a.review(t, 1, 2, "Good."))
	byUser, byFilm := a.reviewsOf(t, 1, 2)
	if !slices.Equal(byUser, []string{"Good."}) || !slices.Equal(byFilm, byUser) {
		t.Errorf("%q, %q", byUser, byFilm)
	}
	reviews, err := a.byUser.ReadUserReviews(t.Context(), 1, 1, 0, 1, nil)
	check(t, err)
	if one := reviews[0]; one.UserID != 1 || one.MovieID != "movie_2" || one.Rating != 7 || one.ReviewID <= 0 {
		t.Errorf("%+v", one)
	}
	if err := a.review(t, 99, 2, "Nobody's"); err == nil || !strings.Contains(err.Error(), "username_99 is not registered") {
		t.Errorf("without a user: %v", err)
	}
	if err := a.review(t, 1, 99, "Of nothing"); err == nil || !strings.Contains(err.Error(), "title 99 is not registered") {
		t.Errorf("of no film: %v", err)
	}
	if _, after := a.reviewsOf(t, 1, 2); len(after) != 1 {
		t.Errorf("%q", after)
	}
}

// In each of the 120 orders the last part completes the review, and no other.
func testOrdersOfParts(t *testing.T, a *app) {
	var try func(chosen, left []int)
	try = func(chosen, left []int) {
		if len(left) == 0 {
			req := rand.Int64()
			parts := a.parts(t, req)
			for i, part := range chosen {
				if completed, err := parts[part](); err != nil || completed != (i == 4) {
					t.Fatalf("order %v, upload %d: %v, %v", chosen, i, completed, err)
				}
			}
			a.expectOne(t, req)
			return
		}
		for i, part := range left {
			try(append(slices.Clone(chosen), part), slices.Delete(slices.Clone(left), i, i+1))
		}
	}
	try(nil, []int{0, 1, 2, 3, 4})
}

// Parts that come at the same time, and some of them more than once: one upload completes the review.
func testPartsAtOnce(t *testing.T, a *app) {
	for range 60 {
		req := rand.Int64()
		uploads := a.parts(t, req)
		for range rand.IntN(4) {
			uploads = append(uploads, uploads[rand.IntN(5)])
		}
		rand.Shuffle(len(uploads), func(i, j int) { uploads[i], uploads[j] = uploads[j], uploads[i] })
		var all sync.WaitGroup
		var completed, refused atomic.Int64
		for _, upload := range uploads {
			all.Go(func() {
				done, err := upload()
				var raised *idl.ServiceException
				switch {
				case errors.As(err, &raised) && raised.ErrorCode == idl.ErrorCode_SE_CONFLICT:
					refused.Add(1)
				case err != nil:
					t.Error(err)
				case done:
					completed.Add(1)
				}
			})
		}
		all.Wait()
		if completed.Load() != 1 || refused.Load() != int64(len(uploads)-5) {
			t.Fatalf("%d uploads: %d completed the review, %d were refused", len(uploads), completed.Load(), refused.Load())
		}
		a.expectOne(t, req)
	}
}

func testPartTwice(t *testing.T, a *app) {
	req := rand.Int64()
	parts := a.parts(t, req)
	for range 5 {
		if _, err := parts[0](); err != nil {
			expectException(t, err, idl.ErrorCode_SE_CONFLICT, fmt.Sprintf("request %d has its text already", req))
		}
	}
	for i, part := range parts[1:] {
		if completed, err := part(); err != nil || completed != (i == 3) {
			t.Fatalf("upload %d: %v, %v", i, completed, err)
		}
	}
	a.expectOne(t, req)
	if _, err := parts[0](); err == nil { // the request is over, its parts are not forgotten yet
		t.Error("a part of a review that is complete was taken")
	}
}

// Where the cache loses everything, the counter or a part, the review is not reported complete, and none is stored.
func testLostParts(t *testing.T, a *app) {
	cache := memcache.New(a.Links["memcached-compose-review"].Address)
	defer cache.Close()
	for name, forget := range map[string]func(req int64) error{
		"all":         func(int64) error { return cache.FlushAll() },
		"the counter": func(req int64) error { return cache.Delete(fmt.Sprintf("%d:counter", req)) },
		"the text":    func(req int64) error { return cache.Delete(fmt.Sprintf("%d:text", req)) },
	} {
		for before := 1; before < 5; before++ {
			req := rand.Int64()
			for i, part := range a.parts(t, req) {
				if i == before {
					check(t, forget(req))
				}
				completed, err := part()
				if completed {
					t.Errorf("%s is lost after %d uploads: upload %d says that it completed the review", name, before, i)
				}
				if last := name == "the text" && i == 4; last {
					expectException(t, err, idl.ErrorCode_SE_MEMCACHED_ERROR, fmt.Sprintf("memcached lost parts of request %d", req))
				} else if err != nil {
					t.Error(err)
				}
			}
			if found := a.stored(t, req); len(found) != 0 {
				t.Errorf("%s is lost after %d uploads: %v", name, before, found)
			}
		}
	}
}

// testLists: what is listed but not stored is left out.
func testLists(t *testing.T, a *app) {
	ctx := t.Context()
	for id := range int64(6) {
		check(t, a.byUser.UploadUserReview(ctx, 1, 77, id, 1000+id, nil))
		check(t, a.byUser.UploadUserReview(ctx, 1, 77, id, 1000+id, nil)) // once more is nothing more
		if id != 3 {
			check(t, a.storage.StoreReview(ctx, 1, &idl.Review{ReviewID: id, UserID: 77, Text: fmt.Sprint(id), MovieID: "x"}, nil))
		}
	}
	expectException(t, a.storage.StoreReview(ctx, 1, &idl.Review{ReviewID: 1, MovieID: "x"}, nil), idl.ErrorCode_SE_CONFLICT, "review 1 already existed")
	for _, example := range []struct {
		start, stop int32
		want        string
	}{{0, 10, "[5 4 2 1 0]"}, {0, 2, "[5 4]"}, {2, 4, "[2]"}, {5, 10, "[0]"}, {6, 10, "[]"}, {3, 3, "[]"}} {
		for range 2 { // store, cache
			got, err := a.byUser.ReadUserReviews(ctx, 1, 77, example.start, example.stop, nil)
			if err != nil || fmt.Sprint(texts(got)) != example.want {
				t.Errorf("%v: %v, %v", example, texts(got), err)
			}
		}
	}
	if got, err := a.byFilm.ReadMovieReviews(ctx, 1, "unknown", 0, 10, nil); err != nil || len(got) != 0 {
		t.Errorf("of an unknown film: %v, %v", got, err)
	}
	if got, err := a.storage.ReadReviews(ctx, 1, []int64{4, 1, 99, 4}, nil); err != nil || fmt.Sprint(texts(got)) != "[4 1 4]" {
		t.Errorf("%v, %v", texts(got), err)
	}
}
