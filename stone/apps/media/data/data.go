// Package data is what the stores of Media Microservices hold: document types and where they are kept, with the
// published names of databases, collections and fields.
package data

import (
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
)

// Where each service keeps its documents.
var (
	MovieIDs     = documents.Location{Service: "movie-id", Database: "movie-id", Collection: "movie-id"}
	Users        = documents.Location{Service: "user", Database: "user", Collection: "user"}
	Reviews      = documents.Location{Service: "review-storage", Database: "review", Collection: "review"}
	MovieReviews = documents.Location{Service: "movie-review", Database: "movie-review", Collection: "movie-review"}
	UserReviews  = documents.Location{Service: "user-review", Database: "user-review", Collection: "user-review"}
	MovieInfos   = documents.Location{Service: "movie-info", Database: "movie-info", Collection: "movie-info"}
	CastInfos    = documents.Location{Service: "cast-info", Database: "cast-info", Collection: "cast-info"}
	Plots        = documents.Location{Service: "plot", Database: "plot", Collection: "plot"}
)

// Indexes are the indexes of a collection. Quirk: users and reviews were not indexed.
func Indexes(of documents.Location, quirks bool) []seeding.Index {
	unique := map[documents.Location][]string{
		MovieIDs: {"title", "movie_id"}, Users: {"user_id", "username"}, Reviews: {"review_id"},
		MovieReviews: {"movie_id"}, UserReviews: {"user_id"}, MovieInfos: {"movie_id"}, CastInfos: {"cast_info_id"},
		Plots: {"plot_id"},
	}
	var indexes []seeding.Index
	for _, field := range unique[of] {
		if quirks && (of == Users || of == Reviews) {
			continue
		}
		indexes = append(indexes, seeding.Index{Field: field, Unique: true})
	}
	return indexes
}

// MovieID is a film's title and id.
type MovieID struct {
	Title   string `json:"title"`
	MovieID string `json:"movie_id"`
}

// User is an account. Password is a hash that names its function (platform/accounts); Salt is empty where the hash has
// its own.
type User struct {
	UserID    int64  `json:"user_id"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
	Salt      string `json:"salt"`
	Password  string `json:"password"`
}

// Review is a review (timestamp: milliseconds since 1970).
type Review struct {
	ReviewID  int64  `json:"review_id"`
	Timestamp int64  `json:"timestamp"`
	UserID    int64  `json:"user_id"`
	MovieID   string `json:"movie_id"`
	Text      string `json:"text"`
	Rating    int32  `json:"rating"`
	ReqID     int64  `json:"req_id"`
}

// MovieReviewList lists a film's reviews, the newest first.
type MovieReviewList struct {
	MovieID string  `json:"movie_id"`
	Reviews []Entry `json:"reviews"`
}

// UserReviewList lists the reviews that a user wrote, the newest first.
type UserReviewList struct {
	UserID  int64   `json:"user_id"`
	Reviews []Entry `json:"reviews"`
}

// Entry is one review in a list (milliseconds since 1970).
type Entry struct {
	ReviewID  int64 `json:"review_id"`
	Timestamp int64 `json:"timestamp"`
}

// MovieInfo describes a film.
type MovieInfo struct {
	MovieID      string   `json:"movie_id"`
	Title        string   `json:"title"`
	Casts        []Cast   `json:"casts"`
	PlotID       int64    `json:"plot_id"`
	ThumbnailIDs []string `json:"thumbnail_ids"`
	PhotoIDs     []string `json:"photo_ids"`
	VideoIDs     []string `json:"video_ids"`
	AvgRating    float64  `json:"avg_rating"`
	NumRating    int32    `json:"num_rating"`
}

// Cast is one part in a film and who plays it.
type Cast struct {
	CastID     int32  `json:"cast_id"`
	Character  string `json:"character"`
	CastInfoID int64  `json:"cast_info_id"`
}

// CastInfo describes an actor (gender: true as in the published data, of men).
type CastInfo struct {
	CastInfoID int64  `json:"cast_info_id"`
	Name       string `json:"name"`
	Gender     bool   `json:"gender"`
	Intro      string `json:"intro"`
}

// Plot is what happens in a film.
type Plot struct {
	PlotID int64  `json:"plot_id"`
	Plot   string `json:"plot"`
}
