package media

import (
	"context"

	goredis "github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/service"
)

// rating adds up ratings in Redis, in "<film>:uncommit_sum" and "<film>:uncommit_num". As published, nothing takes them
// over into the average that movie-info tells.
type rating struct {
	sums    *goredis.Client
	compose *idl.ComposeReviewServiceClient
	quirks  bool
}

func startRating(_ context.Context, host *service.Host) error {
	sums, err := host.OpenRedis("redis-rating", redisConnections)
	if err != nil {
		return err
	}
	compose, err := host.DialThrift("compose-review")
	if err != nil {
		return err
	}
	host.Thrift = idl.NewRatingServiceProcessor(&rating{
		sums: sums, compose: idl.NewComposeReviewServiceClient(compose), quirks: host.Config.Quirks,
	})
	return nil
}

// UploadRating takes the rating of the request's review.
func (r *rating) UploadRating(ctx context.Context, reqID int64, movieID string, mark int32, carrier map[string]string) (bool, error) {
	if err := firstOf(checkName("movie_id", movieID), checkRating(mark, r.quirks)); err != nil {
		return false, err
	}
	var completed bool
	var both errgroup.Group
	both.Go(func() (err error) {
		completed, err = r.compose.UploadRating(ctx, reqID, mark, carrier)
		return exception.CallFailed(err)
	})
	both.Go(func() error {
		_, err := r.sums.TxPipelined(ctx, func(pipe goredis.Pipeliner) error {
			pipe.IncrBy(ctx, movieID+":uncommit_sum", int64(mark))
			pipe.Incr(ctx, movieID+":uncommit_num")
			return nil
		})
		return exception.RedisFailed(err)
	})
	err := both.Wait()
	return completed, err
}
