// Package social is Social Network: a front end, a media front end and eleven services in which people post, follow and
// read. It is API-compatible with the application of that name in DeathStarBench and written from published facts about
// it. The original's bugs are fixed; with STONE_PROFILE=dsb-quirks those that change results are back, each marked
// "Quirk" where it lives.
package social

import (
	"loadstone.dev/stone/platform/config"
	"loadstone.dev/stone/platform/service"
)

// redisConnections bounds the connections of a service to a Redis, as published.
const redisConnections = 512

// Services are the services by name.
var Services = map[string]service.Definition{
	"frontend": {
		Summary: "HTTP front end: API and pages",
		Wants: config.Wants{Secret: true, Needs: []string{
			"compose-post", "home-timeline", "user-timeline", "user", "social-graph", "media-frontend",
		}},
		Start: startFrontend,
	},
	"media-frontend": {
		Summary: "HTTP front end for pictures",
		Wants:   config.Wants{Documents: true},
		Start:   startMediaFrontend,
	},
	"compose-post": {
		Summary: "makes a post of what other services contribute",
		Wants: config.Wants{Needs: []string{
			"text", "user", "media", "unique-id", "post-storage", "user-timeline", "home-timeline",
		}},
		Start: startComposePost,
	},
	"text": {
		Summary: "finds addresses and mentions in a text",
		Wants:   config.Wants{Needs: []string{"url-shorten", "user-mention"}},
		Start:   startText,
	},
	"unique-id": {
		Summary: "generates unique ids",
		Start:   startUniqueID,
	},
	"url-shorten": {
		Summary: "shortens addresses",
		Wants:   config.Wants{Needs: []string{"memcached-url-shorten"}, Documents: true},
		Start:   startURLShorten,
	},
	"user-mention": {
		Summary: "finds the users that a text mentions",
		Wants:   config.Wants{Needs: []string{"memcached-user"}, Documents: true},
		Start:   startUserMention,
	},
	"media": {
		Summary: "describes the pictures of a post",
		Wants:   config.Wants{Needs: []string{"memcached-media"}},
		Start:   startMedia,
	},
	"user": {
		Summary: "accounts: registers, logs in, knows names and ids",
		Wants:   config.Wants{Needs: []string{"memcached-user", "social-graph"}, Documents: true, Secret: true},
		Start:   startUser,
	},
	"post-storage": {
		Summary: "keeps posts",
		Wants:   config.Wants{Needs: []string{"memcached-post-storage"}, Documents: true},
		Start:   startPostStorage,
	},
	"user-timeline": {
		Summary: "what a user posted, the newest first",
		Wants:   config.Wants{Needs: []string{"redis-user-timeline", "post-storage"}, Documents: true},
		Start:   startUserTimeline,
	},
	"home-timeline": {
		Summary: "posts of the users that a user follows, the newest first",
		Wants:   config.Wants{Needs: []string{"redis-home-timeline", "post-storage", "social-graph"}},
		Start:   startHomeTimeline,
	},
	"social-graph": {
		Summary: "which users follow which",
		Wants:   config.Wants{Needs: []string{"redis-social-graph", "user"}, Documents: true},
		Start:   startSocialGraph,
	},
}
