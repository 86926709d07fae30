package hotel

import (
	"context"

	"loadstone.dev/stone/apps/hotel/data"
	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

// attractions looks the hotel of a request up in its store, as published; what is near it is known from memory.
type attractions struct {
	hotelpb.UnimplementedAttractionsServer
	hotels documents.Collection
	town   service.Memory[town]
}

type town struct{ restaurants, museums, cinemas places }

func startAttractions(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	wantCinemas := len(data.AllCinemas(host.Config.Quirks))
	a := &attractions{hotels: data.HotelPoints.In(store)}
	a.town.Fill(host, "attractions data", func(ctx context.Context) (*town, error) {
		var t town
		if err := service.Filled(ctx, store, data.HotelPoints, len(data.AllHotelPoints())); err != nil {
			return nil, err
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

func (a *attractions) NearbyRest(ctx context.Context, request *hotelpb.HotelRequest) (*hotelpb.AttractionIds, error) {
	return a.near(ctx, request, func(t *town) places { return t.restaurants })
}

func (a *attractions) NearbyMus(ctx context.Context, request *hotelpb.HotelRequest) (*hotelpb.AttractionIds, error) {
	return a.near(ctx, request, func(t *town) places { return t.museums })
}

func (a *attractions) NearbyCinema(ctx context.Context, request *hotelpb.HotelRequest) (*hotelpb.AttractionIds, error) {
	return a.near(ctx, request, func(t *town) places { return t.cinemas })
}

// near lists what is near a hotel; near a hotel that it does not know there is nothing.
func (a *attractions) near(ctx context.Context, request *hotelpb.HotelRequest, kind func(*town) places) (*hotelpb.AttractionIds, error) {
	town, err := a.town.Get()
	if err != nil {
		return nil, err
	}
	var hotels []data.Point
	query := documents.Query{Where: []documents.Condition{documents.Equal("hotelId", request.HotelId)}}
	if err := a.hotels.Find(ctx, &hotels, query); err != nil {
		return nil, err
	}
	if len(hotels) == 0 {
		return &hotelpb.AttractionIds{}, nil
	}
	return &hotelpb.AttractionIds{AttractionIds: kind(town).nearby(unitVector(hotels[0].Lat, hotels[0].Lon))}, nil
}
