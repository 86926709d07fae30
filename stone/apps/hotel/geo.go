package hotel

import (
	"context"

	"loadstone.dev/stone/apps/hotel/data"
	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/service"
)

type geo struct {
	hotelpb.UnimplementedGeoServer
	hotels service.Memory[places]
}

func startGeo(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	g := &geo{}
	g.hotels.Fill(host, "geo data", func(ctx context.Context) (*places, error) {
		points, err := service.ReadAll[data.Point](ctx, store, data.GeoPoints, data.Hotels)
		hotels := make(places, len(points))
		for i, point := range points {
			hotels[i] = newPlace(point.HotelID, point.Lat, point.Lon)
		}
		return &hotels, err
	})
	hotelpb.RegisterGeoServer(host.RPC, g)
	return nil
}

func (g *geo) Nearby(_ context.Context, request *hotelpb.GeoRequest) (*hotelpb.HotelIds, error) {
	hotels, err := g.hotels.Get()
	if err != nil {
		return nil, err
	}
	return &hotelpb.HotelIds{HotelIds: hotels.nearby(unitVector(float64(request.Lat), float64(request.Lon)))}, nil
}
