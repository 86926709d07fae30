package media

import (
	"context"

	"loadstone.dev/stone/apps/media/data"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/service"
)

type userReview struct {
	users *reviewLists[data.UserReviewList]
}

func startUserReview(ctx context.Context, host *service.Host) error {
	users, err := openReviewLists[data.UserReviewList](ctx, host, data.UserReviews, "redis-user-review", "user_id")
	if err != nil {
		return err
	}
	host.Thrift = idl.NewUserReviewServiceProcessor(&userReview{users})
	return nil
}

// UploadUserReview puts a review at the front of a user's list.
func (u *userReview) UploadUserReview(ctx context.Context, _, userID, reviewID, timestamp int64, _ map[string]string) error {
	if err := checkID("user", userID); err != nil {
		return err
	}
	return u.users.add(ctx, userID, reviewID, timestamp)
}

func (u *userReview) ReadUserReviews(ctx context.Context, reqID, userID int64, start, stop int32, carrier map[string]string) ([]*idl.Review, error) {
	if err := checkID("user", userID); err != nil {
		return nil, err
	}
	return u.users.read(ctx, reqID, userID, start, stop, carrier)
}
