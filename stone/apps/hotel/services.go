// Package hotel is Hotel Reservation: ten services that find, recommend and book hotels. It is
// API-compatible with the application of that name in DeathStarBench and written from published
// facts about it. The original's bugs are fixed; with STONE_PROFILE=dsb-quirks those that change
// performance are back, each marked "Quirk" where it lives.
package hotel

import (
	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/service"
)

// Services are the services by name.
var Services = map[string]service.Definition{
	"frontend": {
		Summary: "HTTP front end",
		Wants: config.Wants{Needs: []string{
			"search", "profile", "recommendation", "user", "reservation", "review", "attractions",
		}},
		Start: startFrontend,
	},
	"search": {
		Summary: "hotels near a point that have rates",
		Wants:   config.Wants{Needs: []string{"geo", "rate"}},
		Start:   startSearch,
	},
	"geo": {
		Summary: "hotels near a point, from memory",
		Wants:   config.Wants{Documents: true},
		Start:   startGeo,
	},
	"rate": {
		Summary: "rate plans of hotels",
		Wants:   config.Wants{Needs: []string{"memcached-rate"}, Documents: true},
		Start:   startRate,
	},
	"profile": {
		Summary: "descriptions of hotels",
		Wants:   config.Wants{Needs: []string{"memcached-profile"}, Documents: true},
		Start:   startProfile,
	},
	"recommendation": {
		Summary: "nearest, best rated and cheapest hotels, from memory",
		Wants:   config.Wants{Documents: true},
		Start:   startRecommendation,
	},
	"reservation": {
		Summary: "books rooms and says which hotels have some",
		Wants:   config.Wants{Needs: []string{"memcached-reserve"}, Documents: true},
		Start:   startReservation,
	},
	"user": {
		Summary: "checks credentials, from memory",
		Wants:   config.Wants{Documents: true},
		Start:   startUser,
	},
	"review": {
		Summary: "reviews of a hotel",
		Wants:   config.Wants{Needs: []string{"memcached-review"}, Documents: true},
		Start:   startReview,
	},
	"attractions": {
		Summary: "restaurants, museums and cinemas near a hotel",
		Wants:   config.Wants{Documents: true},
		Start:   startAttractions,
	},
}
