// Package data is what the stores of Media Microservices hold: document types and where they are kept, with the
// published names of databases, collections and fields.
package data

import (
	idl "loadstone.dev/stone/apps/media/idl/media"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/timeline"
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

// What the IDL describes is kept as it is: its fields have the published names.
type (
	// MovieID is a film's title and id.
	MovieID = idl.MovieTitle
	// Review is a review (timestamp: milliseconds since 1970).
	Review = idl.Review
	// MovieInfo describes a film.
	MovieInfo = idl.MovieInfo
	// Cast is one part in a film and who plays it.
	Cast = idl.Cast
	// CastInfo describes an actor (gender: true, as in the published data, of men).
	CastInfo = idl.CastInfo
)

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

// Entries are those of the list.
func (l MovieReviewList) Entries() []timeline.Entry { return entries(l.Reviews) }

// Entries are those of the list.
func (l UserReviewList) Entries() []timeline.Entry { return entries(l.Reviews) }

func entries(reviews []Entry) []timeline.Entry {
	list := make([]timeline.Entry, len(reviews))
	for i, one := range reviews {
		list[i] = timeline.Entry{ID: one.ReviewID, Timestamp: one.Timestamp}
	}
	return list
}

// Plot is what happens in a film.
type Plot struct {
	PlotID int64  `json:"plot_id"`
	Plot   string `json:"plot"`
}
