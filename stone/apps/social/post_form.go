package social

import (
	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
)

// postDocument is a post as the store keeps it. Its lists are never null.
func postDocument(post *idl.Post) data.Post {
	document := data.Post{
		PostID: post.PostID, Timestamp: post.Timestamp, Text: post.Text, ReqID: post.ReqID, PostType: int32(post.PostType),
		URLs: make([]data.URL, len(post.Urls)), UserMentions: make([]data.Creator, len(post.UserMentions)),
		Media: make([]data.Medium, len(post.Media)),
	}
	if post.Creator != nil {
		document.Creator = data.Creator{UserID: post.Creator.UserID, Username: post.Creator.Username}
	}
	for i, one := range post.Urls {
		document.URLs[i] = data.URL{ShortenedURL: one.ShortenedURL, ExpandedURL: one.ExpandedURL}
	}
	for i, one := range post.UserMentions {
		document.UserMentions[i] = data.Creator{UserID: one.UserID, Username: one.Username}
	}
	for i, one := range post.Media {
		document.Media[i] = data.Medium{MediaID: one.MediaID, MediaType: one.MediaType}
	}
	return document
}

// postMessage is a post as services pass it on.
func postMessage(document data.Post) *idl.Post {
	post := &idl.Post{
		PostID: document.PostID, Timestamp: document.Timestamp, Text: document.Text, ReqID: document.ReqID,
		PostType:     idl.PostType(document.PostType),
		Creator:      &idl.Creator{UserID: document.Creator.UserID, Username: document.Creator.Username},
		Urls:         make([]*idl.URL, len(document.URLs)),
		UserMentions: make([]*idl.UserMention, len(document.UserMentions)),
		Media:        make([]*idl.Media, len(document.Media)),
	}
	for i, one := range document.URLs {
		post.Urls[i] = &idl.URL{ShortenedURL: one.ShortenedURL, ExpandedURL: one.ExpandedURL}
	}
	for i, one := range document.UserMentions {
		post.UserMentions[i] = &idl.UserMention{UserID: one.UserID, Username: one.Username}
	}
	for i, one := range document.Media {
		post.Media[i] = &idl.Media{MediaID: one.MediaID, MediaType: one.MediaType}
	}
	return post
}
