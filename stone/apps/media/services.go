// Package media is Media Microservices: a front end and thirteen services in which people review films. It is
// API-compatible with the application of that name in DeathStarBench and written from published facts about it. The
// original's bugs are fixed; with STONE_PROFILE=dsb-quirks those that change results are back, each marked "Quirk" where
// it lives.
package media

import (
	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/service"
)

// redisConnections bounds the connections of a service to a Redis, as published.
const redisConnections = 128

// Services are the services by name.
var Services = map[string]service.Definition{
	"frontend": {
		Summary: "HTTP front end: API and pages",
		Wants: config.Wants{Secret: true, Needs: []string{
			"unique-id", "text", "movie-id", "user", "movie-info", "cast-info", "plot", "page", "user-review",
		}},
		Start: startFrontend,
	},
	"unique-id": {
		Summary: "gives a review an id that no other has",
		Wants:   config.Wants{Needs: []string{"compose-review"}},
		Start:   startUniqueID,
	},
	"text": {
		Summary: "takes the text of a review",
		Wants:   config.Wants{Needs: []string{"compose-review"}},
		Start:   startText,
	},
	"movie-id": {
		Summary: "knows films by their titles",
		Wants: config.Wants{Documents: true, Needs: []string{
			"memcached-movie-id", "compose-review", "rating",
		}},
		Start: startMovieID,
	},
	"rating": {
		Summary: "takes the rating of a review and adds it up",
		Wants:   config.Wants{Needs: []string{"redis-rating", "compose-review"}},
		Start:   startRating,
	},
	"user": {
		Summary: "accounts: registers, logs in, knows names and ids",
		Wants:   config.Wants{Documents: true, Secret: true, Needs: []string{"memcached-user", "compose-review"}},
		Start:   startUser,
	},
	"compose-review": {
		Summary: "makes a review of what other services contribute",
		Wants: config.Wants{Needs: []string{
			"memcached-compose-review", "review-storage", "user-review", "movie-review",
		}},
		Start: startComposeReview,
	},
	"review-storage": {
		Summary: "keeps reviews",
		Wants:   config.Wants{Documents: true, Needs: []string{"memcached-review-storage"}},
		Start:   startReviewStorage,
	},
	"movie-review": {
		Summary: "the reviews of a film, the newest first",
		Wants:   config.Wants{Documents: true, Needs: []string{"redis-movie-review", "review-storage"}},
		Start:   startMovieReview,
	},
	"user-review": {
		Summary: "the reviews that a user wrote, the newest first",
		Wants:   config.Wants{Documents: true, Needs: []string{"redis-user-review", "review-storage"}},
		Start:   startUserReview,
	},
	"movie-info": {
		Summary: "describes films",
		Wants:   config.Wants{Documents: true, Needs: []string{"memcached-movie-info"}},
		Start:   startMovieInfo,
	},
	"cast-info": {
		Summary: "describes actors",
		Wants:   config.Wants{Documents: true, Needs: []string{"memcached-cast-info"}},
		Start:   startCastInfo,
	},
	"plot": {
		Summary: "keeps the plots of films",
		Wants:   config.Wants{Documents: true, Needs: []string{"memcached-plot"}},
		Start:   startPlot,
	},
	"page": {
		Summary: "gathers what a film's page shows",
		Wants:   config.Wants{Needs: []string{"movie-info", "movie-review", "cast-info", "plot"}},
		Start:   startPage,
	},
}
