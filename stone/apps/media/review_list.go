package media

import (
	"context"
	"errors"

	"loadstone.dev/stone/apps/media/data"
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/exceptions"
	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/timeline"
)

// reviewLists are lists of reviews, by film or by user.
type reviewLists[D timeline.Document] struct {
	lists   *timeline.Lists[D]
	storage *idl.ReviewStorageServiceClient
	quirks  bool
}

// openReviewLists opens lists of which one document is that of the owner that a field names.
func openReviewLists[D timeline.Document](ctx context.Context, host *service.Host, at documents.Location, redis, owner string) (*reviewLists[D], error) {
	collection, err := openCollection(ctx, host, at)
	if err != nil {
		return nil, err
	}
	copies, err := host.OpenRedis(redis, redisConnections)
	if err != nil {
		return nil, err
	}
	storage, err := host.DialThrift("review-storage")
	if err != nil {
		return nil, err
	}
	lists := &timeline.Lists[D]{
		Documents: collection, Redis: copies, Owner: owner, Array: "reviews", ID: "review_id",
		Element: func(entry timeline.Entry) any { return data.Entry{ReviewID: entry.ID, Timestamp: entry.Timestamp} },
	}
	return &reviewLists[D]{lists, idl.NewReviewStorageServiceClient(storage), host.Config.Quirks}, nil
}

// add puts a review into the list of an owner. Quirk: not into Redis where the list has nothing there.
func (r *reviewLists[D]) add(ctx context.Context, owner any, reviewID, timestamp int64) error {
	if err := firstOf(checkID("review", reviewID), checkID("timestamp", timestamp)); err != nil {
		return err
	}
	entry := timeline.Entry{ID: reviewID, Timestamp: timestamp}
	return listFailed(r.lists.WriteLooking(ctx, owner, entry, r.quirks))
}

// read returns the reviews from start up to, not including, stop, counted from the newest.
func (r *reviewLists[D]) read(ctx context.Context, reqID int64, owner any, start, stop int32, carrier map[string]string) ([]*idl.Review, error) {
	if err := checkRange(start, stop, r.quirks); err != nil {
		return nil, err
	}
	if r.quirks {
		return r.readPublished(ctx, reqID, owner, start, stop, carrier)
	}
	if start == stop {
		return []*idl.Review{}, nil
	}
	ids, err := r.lists.Read(ctx, owner, int(start), int(stop))
	if err != nil {
		return nil, listFailed(err)
	}
	reviews, err := r.storage.ReadReviews(ctx, reqID, ids, carrier)
	return reviews, exception.CallFailed(err)
}

func (r *reviewLists[D]) readPublished(ctx context.Context, reqID int64, owner any, start, stop int32, carrier map[string]string) ([]*idl.Review, error) {
	ids, refill, err := r.lists.ReadPublished(ctx, owner, int(start), int(stop))
	if err != nil {
		return nil, listFailed(err)
	}
	refilled := make(chan error, 1)
	go func() { refilled <- refill() }()
	reviews, err := r.storage.ReadReviews(ctx, reqID, ids, carrier)
	return reviews, firstOf(exception.CallFailed(err), listFailed(<-refilled))
}

// listFailed names an error of a list; nil stays nil.
func listFailed(err error) error {
	if errors.Is(err, timeline.ErrRedis) {
		return exception.Exception(exceptions.Redis, "%v", err)
	}
	return exception.DocumentsFailed(err)
}
