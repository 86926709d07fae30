package hotel

import (
	"context"

	"loadstone.dev/stone/apps/hotel/data"
	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/service"
)

type attractions struct {
	hotelpb.UnimplementedAttractionsServer
	town service.Memory[town]
}

// town is everything that attractions knows.
type town struct {
	hotels                        map[string]place
	restaurants, museums, cinemas places
}

func startAttractions(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	wantCinemas := len(data.AllCinemas(host.Config.Quirks))
	a := &attractions{}
	a.town.Fill(host, "attractions data", func(ctx context.Context) (*town, error) {
		t := town{hotels: make(map[string]place)}
		hotels, err := service.ReadAll[data.Point](ctx, store, data.HotelPoints, len(data.AllHotelPoints()))
		if err != nil {
			return nil, err
		}
		for _, hotel := range hotels {
			t.hotels[hotel.HotelID] = newPlace(hotel.HotelID, hotel.Lat, hotel.Lon)
		}
		restaurants, err := service.ReadAll[data.Restaurant](ctx, store, data.Restaurants, len(data.AllRestaurants()))
		if err != nil {
			return nil, err
		}
		for _, one := range restaurants {
			t.restaurants = append(t.restaurants, newPlace(one.RestaurantID, one.Lat, one.Lon))
		}
		museums, err := service.ReadAll[data.Museum](ctx, store, data.Museums, len(data.AllMuseums()))
		if err != nil {
			return nil, err
		}
		for _, one := range museums {
			t.museums = append(t.museums, newPlace(one.MuseumID, one.Lat, one.Lon))
		}
		cinemas, err := service.ReadAll[data.Cinema](ctx, store, data.Cinemas, wantCinemas)
		for _, one := range cinemas {
			t.cinemas = append(t.cinemas, newPlace(one.CinemaID, one.Lat, one.Lon))
		}
		return &t, err
	})
	hotelpb.RegisterAttractionsServer(host.RPC, a)
	return nil
}

func (a *attractions) NearbyRest(_ context.Context, request *hotelpb.HotelRequest) (*hotelpb.AttractionIds, error) {
	return a.near(request, func(t *town) places { return t.restaurants })
}

func (a *attractions) NearbyMus(_ context.Context, request *hotelpb.HotelRequest) (*hotelpb.AttractionIds, error) {
	return a.near(request, func(t *town) places { return t.museums })
}

func (a *attractions) NearbyCinema(_ context.Context, request *hotelpb.HotelRequest) (*hotelpb.AttractionIds, error) {
	return a.near(request, func(t *town) places { return t.cinemas })
}

// near lists what is near a hotel; near a hotel that it does not know there is nothing.
func (a *attractions) near(request *hotelpb.HotelRequest, kind func(*town) places) (*hotelpb.AttractionIds, error) {
	town, err := a.town.Get()
	if err != nil {
		return nil, err
	}
	hotel, known := town.hotels[request.HotelId]
	if !known {
		return &hotelpb.AttractionIds{}, nil
	}
	return &hotelpb.AttractionIds{AttractionIds: kind(town).nearby(hotel.at)}, nil
}
