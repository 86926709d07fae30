package social

import (
	"context"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"golang.org/x/sync/errgroup"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/service"
)

// composePost makes a post of what other services contribute. Everything that can be wrong with it is checked first, so
// that nothing of a wrong post is stored. The author is taken as given, as published: the caller checks the login.
type composePost struct {
	texts         idl.TextService
	users         idl.UserService
	media         idl.MediaService
	ids           idl.UniqueIdService
	posts         idl.PostStorageService
	userTimelines idl.UserTimelineService
	homeTimelines idl.HomeTimelineService
	quirks        bool
}

func startComposePost(_ context.Context, host *service.Host) error {
	clients := make(map[string]thrift.TClient)
	for need := range host.Config.Needs {
		client, err := host.DialThrift(need)
		if err != nil {
			return err
		}
		clients[need] = client
	}
	host.Thrift = idl.NewComposePostServiceProcessor(&composePost{
		texts:         idl.NewTextServiceClient(clients["text"]),
		users:         idl.NewUserServiceClient(clients["user"]),
		media:         idl.NewMediaServiceClient(clients["media"]),
		ids:           idl.NewUniqueIdServiceClient(clients["unique-id"]),
		posts:         idl.NewPostStorageServiceClient(clients["post-storage"]),
		userTimelines: idl.NewUserTimelineServiceClient(clients["user-timeline"]),
		homeTimelines: idl.NewHomeTimelineServiceClient(clients["home-timeline"]),
		quirks:        host.Config.Quirks,
	})
	return nil
}

// ComposePost stores a post and puts it into its author's timeline and into those of the followers. The three follow one
// another, so that no timeline has a post that is not there yet; where one fails, those before it stay done.
func (c *composePost) ComposePost(
	ctx context.Context, reqID int64, username string, userID int64, text string,
	mediaIDs []int64, mediaTypes []string, kind idl.PostType, carrier map[string]string,
) error {
	if err := c.check(username, userID, text, mediaIDs, mediaTypes, kind); err != nil {
		return err
	}
	post := &idl.Post{ReqID: reqID, PostType: kind}
	if err := c.gather(ctx, post, username, userID, text, mediaIDs, mediaTypes, carrier); err != nil {
		return err
	}
	post.Timestamp = time.Now().UnixMilli()
	if err := c.posts.StorePost(ctx, reqID, post, carrier); err != nil {
		return exception.CallFailed(err)
	}
	if err := c.userTimelines.WriteUserTimeline(ctx, reqID, post.PostID, userID, post.Timestamp, carrier); err != nil {
		return exception.CallFailed(err)
	}
	mentioned := make([]int64, len(post.UserMentions))
	for i, one := range post.UserMentions {
		mentioned[i] = one.UserID
	}
	err := c.homeTimelines.WriteHomeTimeline(ctx, reqID, post.PostID, userID, post.Timestamp, mentioned, carrier)
	return exception.CallFailed(err)
}

// check finds what is wrong with a post.
//
// Quirk: nothing is; what a service or a store cannot take fails there.
func (c *composePost) check(username string, userID int64, text string, mediaIDs []int64, mediaTypes []string, kind idl.PostType) error {
	if c.quirks {
		return nil
	}
	for _, wrong := range []error{
		checkName("username", username), checkID("user", userID), checkText(text), checkMedia(mediaTypes, mediaIDs), checkPostType(kind),
	} {
		if wrong != nil {
			return wrong
		}
	}
	return nil
}

// gather has four services contribute to a post at the same time.
func (c *composePost) gather(
	ctx context.Context, post *idl.Post, username string, userID int64, text string,
	mediaIDs []int64, mediaTypes []string, carrier map[string]string,
) error {
	var all errgroup.Group
	all.Go(func() error {
		written, err := c.texts.ComposeText(ctx, post.ReqID, text, carrier)
		if err == nil {
			post.Text, post.UserMentions, post.Urls = written.Text, written.UserMentions, written.Urls
		}
		return err
	})
	all.Go(func() (err error) {
		post.Creator, err = c.users.ComposeCreatorWithUserId(ctx, post.ReqID, userID, username, carrier)
		return err
	})
	all.Go(func() (err error) {
		post.Media, err = c.media.ComposeMedia(ctx, post.ReqID, mediaTypes, mediaIDs, carrier)
		return err
	})
	all.Go(func() (err error) {
		post.PostID, err = c.ids.ComposeUniqueId(ctx, post.ReqID, post.PostType, carrier)
		return err
	})
	return exception.CallFailed(all.Wait())
}
