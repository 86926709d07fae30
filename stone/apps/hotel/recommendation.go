package hotel

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"loadstone.dev/stone/apps/hotel/data"
	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/service"
)

type recommendation struct {
	hotelpb.UnimplementedRecommendationServer
	hotels service.Memory[recommended]
}

// recommended is the data of recommendations: where hotels are, which have the highest rate and
// which the lowest price.
type recommended struct {
	places         places
	best, cheapest []string
}

func startRecommendation(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	r := &recommendation{}
	r.hotels.Fill(host, "recommendation data", func(ctx context.Context) (*recommended, error) {
		hotels, err := service.ReadAll[data.Recommendation](ctx, store, data.Recommendations, data.Hotels)
		return recommend(hotels), err
	})
	hotelpb.RegisterRecommendationServer(host.RPC, r)
	return nil
}

func recommend(hotels []data.Recommendation) *recommended {
	var r recommended
	var highest, lowest float64
	for i, hotel := range hotels {
		r.places = append(r.places, newPlace(hotel.HotelID, hotel.Lat, hotel.Lon))
		if i == 0 || hotel.Rate > highest {
			highest, r.best = hotel.Rate, nil
		}
		if hotel.Rate == highest {
			r.best = append(r.best, hotel.HotelID)
		}
		if i == 0 || hotel.Price < lowest {
			lowest, r.cheapest = hotel.Price, nil
		}
		if hotel.Price == lowest {
			r.cheapest = append(r.cheapest, hotel.HotelID)
		}
	}
	return &r
}

func (r *recommendation) GetRecommendations(_ context.Context, request *hotelpb.RecommendationRequest) (*hotelpb.HotelIds, error) {
	hotels, err := r.hotels.Get()
	if err != nil {
		return nil, err
	}
	switch request.Require {
	case "dis":
		return &hotelpb.HotelIds{HotelIds: hotels.places.nearest(unitVector(request.Lat, request.Lon))}, nil
	case "rate":
		return &hotelpb.HotelIds{HotelIds: hotels.best}, nil
	case "price":
		return &hotelpb.HotelIds{HotelIds: hotels.cheapest}, nil
	}
	return nil, status.Errorf(codes.InvalidArgument, "require is %q, not dis, rate or price", request.Require)
}
