package data

import (
	goredis "github.com/redis/go-redis/v9"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/timeline"
)

// Entries are the posts as lists have them.
func (t Timeline) Entries() []timeline.Entry {
	entries := make([]timeline.Entry, len(t.Posts))
	for i, post := range t.Posts {
		entries[i] = timeline.Entry{ID: post.PostID, Timestamp: post.Timestamp}
	}
	return entries
}

// UserTimelineLists are the timelines of all users.
func UserTimelineLists(in documents.Collection, copies *goredis.Client) *timeline.Lists[Timeline] {
	return &timeline.Lists[Timeline]{
		Documents: in, Redis: copies, Owner: "user_id", Array: "posts", ID: "post_id",
		Element: func(entry timeline.Entry) any { return Entry{PostID: entry.ID, Timestamp: entry.Timestamp} },
	}
}
