// Package data is what the stores of Social Network hold: document types and where they are kept, with the published
// names of databases, collections and fields.
package data

import (
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
)

// Where each service keeps its documents.
var (
	Users         = documents.Location{Service: "user", Database: "user", Collection: "user"}
	Graph         = documents.Location{Service: "social-graph", Database: "social-graph", Collection: "social-graph"}
	UserTimelines = documents.Location{Service: "user-timeline", Database: "user-timeline", Collection: "user-timeline"}
	Posts         = documents.Location{Service: "post-storage", Database: "post", Collection: "post"}
	URLs          = documents.Location{Service: "url-shorten", Database: "url-shorten", Collection: "url-shorten"}
	Media         = documents.Location{Service: "media", Database: "media", Collection: "media"}
)

// Indexes are the indexes of a collection. Quirk: names of users and files were not indexed.
func Indexes(of documents.Location, quirks bool) []seeding.Index {
	unique := map[documents.Location][]string{
		Users: {"user_id", "username"}, Graph: {"user_id"}, UserTimelines: {"user_id"}, Posts: {"post_id"},
		URLs: {"shortened_url"}, Media: {"filename"},
	}
	var indexes []seeding.Index
	for _, field := range unique[of] {
		if quirks && (field == "username" || field == "filename") {
			continue
		}
		indexes = append(indexes, seeding.Index{Field: field, Unique: true})
	}
	return indexes
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

// Node is a user in the graph of followers.
type Node struct {
	UserID    int64  `json:"user_id"`
	Followers []Edge `json:"followers"`
	Followees []Edge `json:"followees"`
}

// Edge is one follower or followee, and since when (milliseconds since 1970).
type Edge struct {
	UserID    int64 `json:"user_id"`
	Timestamp int64 `json:"timestamp"`
}

// Timeline lists a user's posts, the newest first.
type Timeline struct {
	UserID int64   `json:"user_id"`
	Posts  []Entry `json:"posts"`
}

// Entry is one post in a timeline (milliseconds since 1970).
type Entry struct {
	PostID    int64 `json:"post_id"`
	Timestamp int64 `json:"timestamp"`
}

// Post is a post (timestamp: milliseconds since 1970).
type Post struct {
	PostID       int64     `json:"post_id"`
	Timestamp    int64     `json:"timestamp"`
	Text         string    `json:"text"`
	ReqID        int64     `json:"req_id"`
	PostType     int32     `json:"post_type"`
	Creator      Creator   `json:"creator"`
	URLs         []URL     `json:"urls"`
	UserMentions []Creator `json:"user_mentions"`
	Media        []Medium  `json:"media"`
}

// Creator names a user: who wrote a post, or is mentioned in it.
type Creator struct {
	UserID   int64  `json:"user_id"`
	Username string `json:"username"`
}

// URL is a short address and what it stands for.
type URL struct {
	ShortenedURL string `json:"shortened_url"`
	ExpandedURL  string `json:"expanded_url"`
}

// Medium refers to an uploaded file by its id and type, such as "png".
type Medium struct {
	MediaID   int64  `json:"media_id"`
	MediaType string `json:"media_type"`
}

// File is an uploaded file, named "<media_id>.<type>".
type File struct {
	Filename string `json:"filename"`
	File     []byte `json:"file"`
}
