package hotel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"loadstone.dev/stone/apps/hotel/data"
	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

type profiles struct {
	hotelpb.UnimplementedProfileServer
	hotels documents.Collection
	cache  *service.Cached // hotel id -> JSON of its profile, empty if there is none
	seeded service.Memory[struct{}]
}

func startProfile(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	cache, err := host.OpenCache("memcached-profile")
	if err != nil {
		return err
	}
	p := &profiles{hotels: data.Profiles.In(store), cache: cache}
	p.seeded.Fill(host, "profile data", func(ctx context.Context) (*struct{}, error) {
		return &struct{}{}, service.Filled(ctx, store, data.Profiles, data.Hotels)
	})
	hotelpb.RegisterProfileServer(host.RPC, p)
	return nil
}

// GetProfiles ignores the locale: there is one language.
func (p *profiles) GetProfiles(ctx context.Context, request *hotelpb.ProfilesRequest) (*hotelpb.Hotels, error) {
	if _, err := p.seeded.Get(); err != nil {
		return nil, err
	}
	values, err := p.cache.Through(ctx, distinct(request.HotelIds), p.fetch)
	if err != nil {
		return nil, err
	}
	answer := &hotelpb.Hotels{Hotels: make([]*hotelpb.Hotel, 0, len(values))}
	for _, value := range values {
		if len(value) == 0 {
			continue
		}
		var one data.Profile
		if err := json.Unmarshal(value, &one); err != nil {
			return nil, fmt.Errorf("cached profile: %w", err)
		}
		answer.Hotels = append(answer.Hotels, hotelMessage(one))
	}
	return answer, nil
}

func (p *profiles) fetch(ctx context.Context, id string) ([]byte, error) {
	var one data.Profile
	err := p.hotels.Get(ctx, &one, documents.Equal("id", id))
	if errors.Is(err, documents.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(one)
}

func hotelMessage(p data.Profile) *hotelpb.Hotel {
	images := make([]*hotelpb.Image, len(p.Images))
	for i, image := range p.Images {
		images[i] = &hotelpb.Image{Url: image.URL, Default: image.Default}
	}
	return &hotelpb.Hotel{
		Id: p.ID, Name: p.Name, PhoneNumber: p.PhoneNumber, Description: p.Description,
		Address: &hotelpb.Address{
			StreetNumber: p.Address.StreetNumber, StreetName: p.Address.StreetName, City: p.Address.City,
			State: p.Address.State, Country: p.Address.Country, PostalCode: p.Address.PostalCode,
			Lat: float32(p.Address.Lat), Lon: float32(p.Address.Lon),
		},
		Images: images,
	}
}

// distinct keeps the first of equal ids.
func distinct(ids []string) []string {
	kept := make([]string, 0, len(ids))
	seen := make(map[string]bool, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			kept = append(kept, id)
		}
	}
	return kept
}
