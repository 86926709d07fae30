package media

import (
	"context"

	"loadstone.dev/stone/apps/media/data"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/exceptions"
	"loadstone.dev/stone/platform/service"
)

type reviewStorage struct {
	reviews *shelf[int64, data.Review]
	quirks  bool
}

func startReviewStorage(ctx context.Context, host *service.Host) error {
	id := func(review *data.Review) int64 { return review.ReviewID }
	reviews, err := openShelf(ctx, host, data.Reviews, "memcached-review-storage", "review", "review_id", id)
	if err != nil {
		return err
	}
	host.Thrift = idl.NewReviewStorageServiceProcessor(&reviewStorage{reviews, host.Config.Quirks})
	return nil
}

func (s *reviewStorage) StoreReview(ctx context.Context, _ int64, review *idl.Review, _ map[string]string) error {
	err := firstOf(checkID("review", review.ReviewID), checkID("user", review.UserID), checkName("movie_id", review.MovieID),
		checkText("text", review.Text), checkRating(review.Rating, s.quirks))
	if err != nil {
		return err
	}
	return s.reviews.add(ctx, review)
}

// ReadReviews returns reviews in the order of their ids. A list can have an id whose review is not stored yet, as both
// are written at the same time, or never will be, where the storing failed: it is left out.
//
// Quirk: that is an error, and so is an id that is there twice.
func (s *reviewStorage) ReadReviews(ctx context.Context, _ int64, ids []int64, _ map[string]string) ([]*idl.Review, error) {
	reviews, err := s.reviews.list(ctx, ids)
	if err != nil {
		return nil, err
	}
	if s.quirks && (len(reviews) < len(ids) || hasTwice(ids)) {
		return nil, exception.Exception(exceptions.Handler, "Return set incomplete")
	}
	return reviews, nil
}

func hasTwice(ids []int64) bool {
	seen := make(map[int64]bool, len(ids))
	for _, id := range ids {
		seen[id] = true
	}
	return len(seen) < len(ids)
}
