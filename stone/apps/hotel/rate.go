package hotel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"loadstone.dev/stone/apps/hotel/data"
	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

type rate struct {
	hotelpb.UnimplementedRateServer
	inventory documents.Collection
	cache     *service.Cached // hotel id -> JSON of its rate plans, one a line
	seeded    service.Memory[struct{}]
	quirks    bool
}

func startRate(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	cache, err := host.OpenCache("memcached-rate")
	if err != nil {
		return err
	}
	want := len(data.AllRatePlans())
	r := &rate{inventory: data.RatePlans.In(store), cache: cache, quirks: host.Config.Quirks}
	r.seeded.Fill(host, "rate data", func(ctx context.Context) (*struct{}, error) {
		return &struct{}{}, service.Filled(ctx, store, data.RatePlans, want)
	})
	hotelpb.RegisterRateServer(host.RPC, r)
	return nil
}

// GetRates ignores the dates: in the original, too, a plan is offered for any dates.
func (r *rate) GetRates(ctx context.Context, request *hotelpb.RatesRequest) (*hotelpb.RatePlans, error) {
	if _, err := r.seeded.Get(); err != nil {
		return nil, err
	}
	values, err := r.cache.Through(ctx, distinct(request.HotelIds), r.fetch)
	if err != nil {
		return nil, err
	}
	answer := &hotelpb.RatePlans{}
	for _, lines := range values {
		for line := range bytes.Lines(lines) {
			var plan data.RatePlan
			if err := json.Unmarshal(line, &plan); err != nil {
				return nil, fmt.Errorf("cached rate plan: %w", err)
			}
			answer.RatePlans = append(answer.RatePlans, ratePlanMessage(plan))
		}
	}
	slices.SortStableFunc(answer.RatePlans, func(a, b *hotelpb.RatePlan) int {
		return cmp.Compare(b.RoomType.TotalRate, a.RoomType.TotalRate)
	})
	return answer, nil
}

// fetch reads a hotel's plans.
//
// Quirk: the query has no filter, so that each hotel comes with the plans of all.
func (r *rate) fetch(ctx context.Context, hotelID string) ([]byte, error) {
	query := documents.Query{Where: []documents.Condition{documents.Equal("hotelId", hotelID)}}
	if r.quirks {
		query = documents.Query{}
	}
	var plans []data.RatePlan
	if err := r.inventory.Find(ctx, &plans, query); err != nil {
		return nil, err
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines) // ends each document with a new line
	for _, plan := range plans {
		if err := encoder.Encode(plan); err != nil {
			return nil, err
		}
	}
	return lines.Bytes(), nil
}

func ratePlanMessage(p data.RatePlan) *hotelpb.RatePlan {
	return &hotelpb.RatePlan{
		HotelId: p.HotelID, Code: p.Code, InDate: p.InDate, OutDate: p.OutDate,
		RoomType: &hotelpb.RoomType{
			BookableRate: p.RoomType.BookableRate, TotalRate: p.RoomType.TotalRate,
			TotalRateInclusive: p.RoomType.TotalRateInclusive, Code: p.RoomType.Code,
			Currency: p.RoomType.Currency, RoomDescription: p.RoomType.RoomDescription,
		},
	}
}
