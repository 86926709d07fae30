package hotel

import (
	"context"

	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/service"
)

type search struct {
	hotelpb.UnimplementedSearchServer
	geo    hotelpb.GeoClient
	rate   hotelpb.RateClient
	quirks bool
}

func startSearch(_ context.Context, host *service.Host) error {
	geo, err := host.Dial("geo")
	if err != nil {
		return err
	}
	rate, err := host.Dial("rate")
	if err != nil {
		return err
	}
	hotelpb.RegisterSearchServer(host.RPC, &search{
		geo: hotelpb.NewGeoClient(geo), rate: hotelpb.NewRateClient(rate), quirks: host.Config.Quirks,
	})
	return nil
}

func (s *search) Nearby(ctx context.Context, request *hotelpb.SearchRequest) (*hotelpb.HotelIds, error) {
	near, err := s.geo.Nearby(ctx, &hotelpb.GeoRequest{Lat: request.Lat, Lon: request.Lon})
	if err != nil {
		return nil, err
	}
	rates, err := s.rate.GetRates(ctx, &hotelpb.RatesRequest{
		HotelIds: near.HotelIds, InDate: request.InDate, OutDate: request.OutDate,
	})
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(rates.RatePlans))
	seen := make(map[string]bool, len(near.HotelIds))
	for _, plan := range rates.RatePlans {
		// Quirk: a hotel appears once for each of its plans.
		if s.quirks || !seen[plan.HotelId] {
			seen[plan.HotelId] = true
			ids = append(ids, plan.HotelId)
		}
	}
	return &hotelpb.HotelIds{HotelIds: ids}, nil
}
