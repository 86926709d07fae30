package hotel

import hotelpb "loadstone.dev/stone/apps/hotel/proto"

// GeoJSON (RFC 7946), as far as the API has it.
type featureCollection struct {
	Type     string    `json:"type"`
	Features []feature `json:"features"`
}

type feature struct {
	Type       string     `json:"type"`
	ID         string     `json:"id"`
	Properties properties `json:"properties"`
	Geometry   point      `json:"geometry"`
}

type properties struct {
	Name        string `json:"name"`
	PhoneNumber string `json:"phone_number"`
}

type point struct {
	Type        string     `json:"type"`
	Coordinates [2]float32 `json:"coordinates"` // longitude, latitude
}

func geoJSON(hotels []*hotelpb.Hotel) featureCollection {
	features := make([]feature, len(hotels))
	for i, hotel := range hotels {
		features[i] = feature{
			Type:       "Feature",
			ID:         hotel.Id,
			Properties: properties{hotel.Name, hotel.PhoneNumber},
			Geometry:   point{"Point", [2]float32{hotel.Address.GetLon(), hotel.Address.GetLat()}},
		}
	}
	return featureCollection{"FeatureCollection", features}
}
