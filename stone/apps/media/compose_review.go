package media

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/cache"
	"loadstone.dev/stone/platform/exceptions"
	"loadstone.dev/stone/platform/service"
)

// partsLive is how long a request has to bring in all parts of its review, as published.
const partsLive = 10 * time.Second

// parts of a review, as the cache names them: "<request>:review_id" and so on.
var parts = []string{"review_id", "movie_id", "user_id", "text", "rating"}

// composeReview joins the parts of a request's review, which come in any order, at the same time and to any replica: each
// is put into the cache, then counted in "<request>:counter", and the call that counts to five stores the review.
//
// Where the cache loses parts or counter on the way no call counts to five, and none says that it completed the review.
type composeReview struct {
	cache   cache.Cache
	storage *idl.ReviewStorageServiceClient
	users   *idl.UserReviewServiceClient
	movies  *idl.MovieReviewServiceClient
	quirks  bool
}

func startComposeReview(_ context.Context, host *service.Host) error {
	cache, err := host.OpenMemcached("memcached-compose-review")
	if err != nil {
		return err
	}
	storage, err := host.DialThrift("review-storage")
	if err != nil {
		return err
	}
	users, err := host.DialThrift("user-review")
	if err != nil {
		return err
	}
	movies, err := host.DialThrift("movie-review")
	if err != nil {
		return err
	}
	host.Thrift = idl.NewComposeReviewServiceProcessor(&composeReview{
		cache: cache, storage: idl.NewReviewStorageServiceClient(storage), users: idl.NewUserReviewServiceClient(users),
		movies: idl.NewMovieReviewServiceClient(movies), quirks: host.Config.Quirks,
	})
	return nil
}

func (c *composeReview) UploadText(ctx context.Context, reqID int64, text string, carrier map[string]string) (bool, error) {
	return c.upload(ctx, reqID, "text", text, carrier)
}

func (c *composeReview) UploadRating(ctx context.Context, reqID int64, mark int32, carrier map[string]string) (bool, error) {
	return c.upload(ctx, reqID, "rating", strconv.Itoa(int(mark)), carrier)
}

func (c *composeReview) UploadMovieId(ctx context.Context, reqID int64, id string, carrier map[string]string) (bool, error) {
	return c.upload(ctx, reqID, "movie_id", id, carrier)
}

func (c *composeReview) UploadUniqueId(ctx context.Context, reqID, id int64, carrier map[string]string) (bool, error) {
	return c.upload(ctx, reqID, "review_id", strconv.FormatInt(id, 10), carrier)
}

func (c *composeReview) UploadUserId(ctx context.Context, reqID, id int64, carrier map[string]string) (bool, error) {
	return c.upload(ctx, reqID, "user_id", strconv.FormatInt(id, 10), carrier)
}

// upload takes one part, and stores the review if it is the last.
//
// Quirk: a part that comes twice is counted twice, so that a review can be stored with a part missing, or not at all.
func (c *composeReview) upload(ctx context.Context, reqID int64, part, value string, carrier map[string]string) (completed bool, err error) {
	counter := partKey(reqID, "counter")
	if _, err := c.cache.AddFor(ctx, counter, []byte("0"), partsLive); err != nil {
		return false, exception.MemcachedFailed(err)
	}
	added, err := c.cache.AddFor(ctx, partKey(reqID, part), []byte(value), partsLive)
	if err != nil {
		return false, exception.MemcachedFailed(err)
	}
	if !added && !c.quirks {
		return false, exception.Conflict("request %d has its %s already", reqID, part)
	}
	count, found, err := c.cache.Increment(ctx, counter, 1)
	if err != nil {
		return false, exception.MemcachedFailed(err)
	}
	if !found {
		return false, partsLost(reqID)
	}
	if count != uint64(len(parts)) {
		return false, nil
	}
	review, err := c.join(ctx, reqID)
	if err != nil {
		return false, err
	}
	return true, c.store(ctx, review, carrier)
}

// join makes the review of its parts.
func (c *composeReview) join(ctx context.Context, reqID int64) (*idl.Review, error) {
	keys := make([]string, len(parts))
	for i, part := range parts {
		keys[i] = partKey(reqID, part)
	}
	held, err := c.cache.GetMulti(ctx, keys)
	if err != nil {
		return nil, exception.MemcachedFailed(err)
	}
	if len(held) < len(parts) {
		return nil, partsLost(reqID)
	}
	review := &idl.Review{
		ReqID: reqID, Timestamp: time.Now().UnixMilli(),
		Text: string(held[partKey(reqID, "text")]), MovieID: string(held[partKey(reqID, "movie_id")]),
	}
	number := func(part string, bits int) (value int64) {
		value, failed := strconv.ParseInt(string(held[partKey(reqID, part)]), 10, bits)
		if failed != nil {
			err = fmt.Errorf("%s: %w", partKey(reqID, part), failed)
		}
		return value
	}
	review.ReviewID, review.UserID, review.Rating = number("review_id", 64), number("user_id", 64), int32(number("rating", 32))
	return review, exception.MemcachedFailed(err)
}

// store puts the review and both lists' entries where they belong, all at the same time.
func (c *composeReview) store(ctx context.Context, review *idl.Review, carrier map[string]string) error {
	var all errgroup.Group
	all.Go(func() error { return exception.CallFailed(c.storage.StoreReview(ctx, review.ReqID, review, carrier)) })
	all.Go(func() error {
		return exception.CallFailed(c.users.UploadUserReview(ctx, review.ReqID, review.UserID, review.ReviewID, review.Timestamp, carrier))
	})
	all.Go(func() error {
		return exception.CallFailed(c.movies.UploadMovieReview(ctx, review.ReqID, review.MovieID, review.ReviewID, review.Timestamp, carrier))
	})
	return all.Wait()
}

func partKey(reqID int64, part string) string { return fmt.Sprintf("%d:%s", reqID, part) }

func partsLost(reqID int64) error {
	return exception.Exception(exceptions.Memcached, "memcached lost parts of request %d; send it again", reqID)
}
