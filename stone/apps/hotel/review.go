package hotel

import (
	"context"
	"encoding/json"
	"fmt"

	"loadstone.dev/stone/apps/hotel/data"
	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

type review struct {
	hotelpb.UnimplementedReviewServer
	reviews documents.Collection
	cache   *service.Cached // hotel id -> JSON list of its reviews
	seeded  service.Memory[struct{}]
}

func startReview(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	cache, err := host.OpenCache("memcached-review")
	if err != nil {
		return err
	}
	want := len(data.AllReviews())
	r := &review{reviews: data.Reviews.In(store), cache: cache}
	r.seeded.Fill(host, "review data", func(ctx context.Context) (*struct{}, error) {
		return &struct{}{}, service.Filled(ctx, store, data.Reviews, want)
	})
	hotelpb.RegisterReviewServer(host.RPC, r)
	return nil
}

func (r *review) GetReviews(ctx context.Context, request *hotelpb.HotelRequest) (*hotelpb.Reviews, error) {
	if _, err := r.seeded.Get(); err != nil {
		return nil, err
	}
	values, err := r.cache.Through(ctx, []string{request.HotelId}, r.fetch)
	if err != nil {
		return nil, err
	}
	var reviews []data.Review
	if err := json.Unmarshal(values[0], &reviews); err != nil {
		return nil, fmt.Errorf("cached reviews: %w", err)
	}
	answer := &hotelpb.Reviews{Reviews: make([]*hotelpb.ReviewComment, len(reviews))}
	for i, one := range reviews {
		answer.Reviews[i] = &hotelpb.ReviewComment{
			ReviewId: one.ReviewID, HotelId: one.HotelID, Name: one.Name, Rating: float32(one.Rating),
			Description: one.Description, Image: &hotelpb.Image{Url: one.Image.URL, Default: one.Image.Default},
		}
	}
	return answer, nil
}

func (r *review) fetch(ctx context.Context, hotelID string) ([]byte, error) {
	reviews := []data.Review{}
	query := documents.Query{Where: []documents.Condition{documents.Equal("hotelId", hotelID)}}
	if err := r.reviews.Find(ctx, &reviews, query); err != nil {
		return nil, err
	}
	return json.Marshal(reviews)
}
