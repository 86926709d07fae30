package media_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/servertest"
)

// Reviews are written without a pause while one store after the other is killed: caches and Redis servers start anew
// without what they held, the document store comes back. Then all is well without a restart of a service, and every
// review that was acknowledged is listed and stored, once.
func TestStoresThatAreKilledUnderLoad(t *testing.T) {
	const users, films = 3, 2
	a := startApp(t, "")
	a.register(t, users)
	var acknowledged [users][films]struct {
		sync.Mutex
		texts []string
	}
	var written atomic.Int64
	stop := make(chan struct{})
	var writing sync.WaitGroup
	for writer := range 4 {
		writing.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				user, film := rand.IntN(users), rand.IntN(films)
				text := fmt.Sprintf("%d/%d", writer, i)
				if a.review(t, int64(user), int64(film), text) == nil {
					list := &acknowledged[user][film]
					list.Lock()
					list.texts = append(list.texts, text)
					list.Unlock()
					written.Add(1)
				}
				// Readers fill the lists that Redis forgot.
				_, _ = a.byUser.ReadUserReviews(t.Context(), 1, int64(user), 0, 10, nil)
				_, _ = a.byFilm.ReadMovieReviews(t.Context(), 1, fmt.Sprintf("movie_%d", film), 0, 10, nil)
			}
		})
	}
	more := func(after string) {
		t.Helper()
		enough := written.Load() + 20
		apptest.Eventually(t, "reviews are written again after "+after, func() bool { return written.Load() > enough })
	}
	more("the start")
	for name, link := range a.Links {
		switch kind, _, _ := strings.Cut(name, "-"); kind {
		case "memcached":
			link.Restart(servertest.Memcached(t))
		case "redis":
			link.Restart(servertest.Redis(t))
		default:
			link.Cut()
			link.Mend()
		}
		more(name)
	}
	close(stop)
	writing.Wait()
	for user := range users {
		for film := range films {
			byUser, byFilm := a.reviewsOf(t, int64(user), int64(film))
			for _, text := range acknowledged[user][film].texts {
				for list, texts := range map[string][]string{"user": byUser, "film": byFilm} {
					if !slices.Contains(texts, text) {
						t.Errorf("review %s is not in the list of %s", text, list)
					}
				}
			}
			for _, texts := range [][]string{byUser, byFilm} {
				if once := slices.Compact(slices.Sorted(slices.Values(texts))); len(once) != len(texts) {
					t.Errorf("%d reviews are listed %d times", len(once), len(texts))
				}
			}
		}
	}
}

// What a request needs is not there: the review fails, and is not listed as if it were written.
func TestAReviewFailsWithoutWhatItNeeds(t *testing.T) {
	a := startApp(t, "")
	a.register(t, 1)
	check(t, a.review(t, 0, 0, "first"))
	for name, says := range map[string]string{
		"memcached-compose-review": "SE_MEMCACHED_ERROR", "redis-user-review": "SE_REDIS_ERROR",
		"redis-movie-review": "SE_REDIS_ERROR", "redis-rating": "SE_REDIS_ERROR", "documents": "SE_MONGODB_ERROR",
	} {
		a.Links[name].Cut()
		if err := a.review(t, 0, 0, "without "+name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("without %s: %v, want %s", name, err, says)
		}
		a.Links[name].Mend()
		apptest.Eventually(t, name+" is used again", func() bool { return a.review(t, 0, 0, "with "+name) == nil })
	}
	// These only speed things up.
	for _, name := range []string{"memcached-user", "memcached-movie-id", "memcached-review-storage"} {
		a.Links[name].Cut()
		if err := a.review(t, 0, 0, "still without "+name); err != nil {
			t.Errorf("without %s: %v", name, err)
		}
		a.Links[name].Mend()
	}
	byUser, _ := a.reviewsOf(t, 0, 0)
	if !slices.Contains(byUser, "still without memcached-user") {
		t.Errorf("%q", byUser)
	}
	for _, name := range []string{"review-storage", "user-review", "movie-review", "rating"} {
		a.Replica(name).Stop()
		err := a.review(t, 0, 0, "without "+name)
		if err == nil || !strings.Contains(err.Error(), idl.ErrorCode_SE_THRIFT_CONN_ERROR.String()) {
			t.Errorf("without %s: %v", name, err)
		}
		a.Replica(name).Start()
		a.Replica(name).WaitReady()
	}
	apptest.Eventually(t, "reviews are written", func() bool { return a.review(t, 0, 0, "last") == nil })
}

// Each part goes to one of two replicas, and one of them may be gone.
func TestOneOfTwoReplicasIsEnough(t *testing.T) {
	a := startApp(t, "")
	a.register(t, 1)
	a.Replica("compose-review", 1).Stop()
	for i := range 10 {
		if err := a.review(t, 0, 0, fmt.Sprint(i)); err != nil {
			t.Errorf("review %d: %v", i, err)
		}
	}
	if byUser, byFilm := a.reviewsOf(t, 0, 0); len(byUser) != 10 || !slices.Equal(byUser, byFilm) {
		t.Errorf("%q, %q", byUser, byFilm)
	}
}
