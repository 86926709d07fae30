package media

import (
	"context"

	"loadstone.dev/stone/apps/media/data"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/service"
)

type movieReview struct {
	films *reviewLists[data.MovieReviewList]
}

func startMovieReview(ctx context.Context, host *service.Host) error {
	films, err := openReviewLists[data.MovieReviewList](ctx, host, data.MovieReviews, "redis-movie-review", "movie_id")
	if err != nil {
		return err
	}
	host.Thrift = idl.NewMovieReviewServiceProcessor(&movieReview{films})
	return nil
}

// UploadMovieReview puts a review at the front of a film's list.
func (m *movieReview) UploadMovieReview(ctx context.Context, _ int64, movieID string, reviewID, timestamp int64, _ map[string]string) error {
	if err := checkName("movie_id", movieID); err != nil {
		return err
	}
	return m.films.add(ctx, movieID, reviewID, timestamp)
}

func (m *movieReview) ReadMovieReviews(ctx context.Context, reqID int64, movieID string, start, stop int32, carrier map[string]string) ([]*idl.Review, error) {
	if err := checkName("movie_id", movieID); err != nil {
		return nil, err
	}
	return m.films.read(ctx, reqID, movieID, start, stop, carrier)
}
