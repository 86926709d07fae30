package data

import (
	"fmt"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
)

// quirksProfile restores the published application's bugs; here, in users and cinemas.
const quirksProfile = "dsb-quirks"

// Seed is what Hotel Reservation's stores hold before any load.
type Seed struct{ seeding.Lists }

// New is the seed under a profile.
func New(profile string) (Seed, error) {
	if profile != "" && profile != quirksProfile {
		return Seed{}, fmt.Errorf(`profile %q: hotel knows "" and %q`, profile, quirksProfile)
	}
	quirks := profile == quirksProfile
	unique := func(field string) seeding.Index { return seeding.Index{Field: field, Unique: true} }
	several := func(field string) seeding.Index { return seeding.Index{Field: field} }
	return Seed{seeding.Lists{
		fill(GeoPoints, unique("hotelId"), AllPoints(), func(p Point) string { return p.HotelID }),
		fill(Profiles, unique("id"), AllProfiles(), func(p Profile) string { return p.ID }),
		fill(RatePlans, several("hotelId"), AllRatePlans(), func(p RatePlan) string { return p.HotelID + " " + p.Code }),
		fill(Recommendations, unique("hotelId"), AllRecommendations(), func(r Recommendation) string { return r.HotelID }),
		fill(Reservations, several("hotelId"), AllReservations(), func(r Reservation) string {
			return r.HotelID + " " + r.CustomerName + " " + r.InDate
		}),
		fill(Nights, unique("night"), AllNights(), func(n Night) string { return n.Night }),
		fill(Rooms, unique("hotelId"), AllRoomCounts(), func(r RoomCount) string { return r.HotelID }),
		fill(Users, unique("username"), AllUsers(quirks), func(u User) string { return u.Username }),
		fill(Reviews, several("hotelId"), AllReviews(), func(r Review) string { return r.ReviewID }),
		fill(HotelPoints, unique("hotelId"), AllHotelPoints(), func(p Point) string { return p.HotelID }),
		fill(Restaurants, unique("restaurantId"), AllRestaurants(), func(r Restaurant) string { return r.RestaurantID }),
		fill(Museums, unique("museumId"), AllMuseums(), func(m Museum) string { return m.MuseumID }),
		fill(Cinemas, unique("cinemaId"), AllCinemas(quirks), func(c Cinema) string { return c.CinemaID }),
	}}, nil
}

// fill puts all documents into a collection, each under the key that key makes of it.
func fill[T any](at documents.Location, index seeding.Index, all []T, key func(T) string) seeding.Collection {
	items := make([]documents.Keyed, len(all))
	for i, one := range all {
		items[i] = documents.Keyed{Key: key(one), Document: one}
	}
	return seeding.Collection{Location: at, Indexes: []seeding.Index{index}, Documents: items}
}
