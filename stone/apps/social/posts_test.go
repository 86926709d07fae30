package social_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/servertest"
)

// examplePost has something in every field.
func examplePost(id int64) *idl.Post {
	return &idl.Post{
		PostID: id, Creator: &idl.Creator{UserID: 1 << 62, Username: "anna"}, ReqID: 1<<60 - 1, Text: `<a> "é" & 漢` + "\n\t\\",
		UserMentions: []*idl.UserMention{{UserID: 2, Username: "ben"}, {UserID: 3, Username: "c"}},
		Media:        []*idl.Media{{MediaID: 1<<63 - 1, MediaType: "png"}},
		Urls:         []*idl.URL{{ShortenedURL: "http://short-url/0", ExpandedURL: "http://x"}},
		Timestamp:    1_700_000_000_123, PostType: idl.PostType_DM,
	}
}

func barePost(id int64) *idl.Post {
	return &idl.Post{PostID: id, Creator: &idl.Creator{}, UserMentions: []*idl.UserMention{}, Media: []*idl.Media{}, Urls: []*idl.URL{}}
}

func (a *app) store(t *testing.T, posts ...*idl.Post) {
	t.Helper()
	for _, post := range posts {
		if err := a.posts().StorePost(t.Context(), 1, post, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// expectPosts reads posts.
func (a *app) expectPosts(t *testing.T, ids []int64, want ...*idl.Post) {
	t.Helper()
	got, err := a.posts().ReadPosts(t.Context(), 1, ids, nil)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%v: %v, %v; want %v", ids, got, err, want)
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%v: at %d: %v, want %v", ids, i, got[i], want[i])
		}
	}
}

func TestPosts(t *testing.T) {
	for name, store := range map[string]func(testing.TB) string{"postgres": servertest.Postgres, "mongo": servertest.Mongo} {
		t.Run(name, func(t *testing.T) {
			a := startAppOn(t, "", store)
			t.Run("are read as they were stored, in the order of their ids", func(t *testing.T) { testReadPosts(t, a) })
			t.Run("are stored once", func(t *testing.T) { testStorePost(t, a) })
			t.Run("are remembered", func(t *testing.T) { testCachedPosts(t, a) })
		})
	}
}

func testReadPosts(t *testing.T, a *app) {
	one, two, three := examplePost(10), barePost(1<<63-1), examplePost(30)
	a.store(t, one, two, three)
	for range 2 { // store, cache
		a.expectPosts(t, []int64{30, 1<<63 - 1, 10}, three, two, one)
		a.expectPosts(t, []int64{10, 10, 99, 30, 10}, one, one, three, one) // 99 is not there
		a.expectPosts(t, []int64{98, 97})
		a.expectPosts(t, nil)
		got, err := a.posts().ReadPost(t.Context(), 1, 30, nil)
		if err != nil || !reflect.DeepEqual(got, three) {
			t.Errorf("%v, %v; want %v", got, err, three)
		}
		_, err = a.posts().ReadPost(t.Context(), 1, 99, nil)
		expectException(t, err, idl.ErrorCode_SE_NOT_FOUND, "there is no post 99")
	}
	a.store(t, barePost(99))
	a.expectPosts(t, []int64{99}, barePost(99)) // that it was missing is not remembered
}

func testStorePost(t *testing.T, a *app) {
	before := a.count(t, data.Posts)
	a.store(t, barePost(200))
	expectException(t, a.posts().StorePost(t.Context(), 1, examplePost(200), nil), idl.ErrorCode_SE_CONFLICT, "there is a post 200 already")
	for _, text := range []string{"a\x00b", "\xff"} {
		post := barePost(201)
		post.Text = text
		expectException(t, a.posts().StorePost(t.Context(), 1, post, nil), idl.ErrorCode_SE_INVALID, "")
	}
	a.expectPosts(t, []int64{200, 201}, barePost(200))
	if grown := a.count(t, data.Posts) - before; grown != 1 {
		t.Errorf("the store grew by %d", grown)
	}
}

func testCachedPosts(t *testing.T, a *app) {
	read, unread := barePost(300), barePost(301)
	a.store(t, read, unread)
	a.expectPosts(t, []int64{300}, read)
	if err := data.Posts.In(a.Store()).Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.expectPosts(t, []int64{300, 301}, read)
	a.store(t, unread)
	a.Links["memcached-post-storage"].Cut()
	a.expectPosts(t, []int64{300, 301}, unread)
	if a.Replica("post-storage").Counter("memcached-post-storage failures") == 0 {
		t.Error("no failure of the cache is counted")
	}
	a.Links["memcached-post-storage"].Mend()
}

func TestPostsWithQuirks(t *testing.T) {
	a := startApp(t, "dsb-quirks")
	a.store(t, barePost(1), barePost(2))
	a.expectPosts(t, []int64{2, 1}, barePost(2), barePost(1))
	a.expectPosts(t, nil)
	_, err := a.posts().ReadPosts(t.Context(), 1, []int64{1, 3}, nil)
	expectException(t, err, idl.ErrorCode_SE_THRIFT_HANDLER_ERROR, "Return set incomplete")
	_, err = a.posts().ReadPosts(t.Context(), 1, []int64{1, 2, 1}, nil)
	expectException(t, err, idl.ErrorCode_SE_THRIFT_HANDLER_ERROR, "Post_ids are duplicated")

	// Without followers the post is stored, but its author gets an error.
	a.register(1)
	err = a.composer().ComposePost(t.Context(), 1, "username_1", 1, "x", nil, nil, idl.PostType_POST, nil)
	expectException(t, err, idl.ErrorCode_SE_REDIS_ERROR, "")
	if posts := a.userTimeline(t, 1); len(posts) != 1 {
		t.Errorf("%d posts", len(posts))
	}
}

func (a *app) userTimeline(t *testing.T, user int64) []*idl.Post {
	t.Helper()
	posts, err := a.userTimelines().ReadUserTimeline(t.Context(), 1, user, 0, 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	return posts
}

func (a *app) homeTimeline(t *testing.T, user int64) []*idl.Post {
	t.Helper()
	posts, err := a.homeTimelines().ReadHomeTimeline(t.Context(), 1, user, 0, 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	return posts
}

// A post goes through all services.
func TestAPostReachesFollowersAndMentionedUsers(t *testing.T) {
	a := startApp(t, "")
	for user := range int64(5) {
		a.register(user)
	}
	follow := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	follow(a.graph().Follow(t.Context(), 1, 1, 0, nil))
	follow(a.graph().FollowWithUsername(t.Context(), 1, "username_2", "username_0", nil))
	compose := func(user int64, text string) {
		t.Helper()
		err := a.composer().ComposePost(t.Context(), 7, "username_0", user, text, []int64{5}, []string{"gif"}, idl.PostType_REPOST, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	compose(0, "first @username_2 @username_3 @unknown http://long.example")
	compose(0, "second")
	compose(4, "unread by others")
	for user, want := range map[int64][2][]string{
		0: {{"second", "first"}, {}}, 1: {{}, {"second", "first"}}, 2: {{}, {"second", "first"}}, 3: {{}, {"first"}}, 4: {{"unread"}, {}},
	} {
		for i, posts := range [][]*idl.Post{a.userTimeline(t, user), a.homeTimeline(t, user)} {
			words := []string{}
			for _, post := range posts {
				word, _, _ := strings.Cut(post.Text, " ")
				words = append(words, word)
			}
			if !slices.Equal(words, want[i]) {
				t.Errorf("user %d, timeline %d: %q, want %q", user, i, words, want[i])
			}
		}
	}
	first := a.homeTimeline(t, 3)[0]
	if len(first.Urls) != 1 || first.Urls[0].ExpandedURL != "http://long.example" || !strings.HasSuffix(first.Text, first.Urls[0].ShortenedURL) {
		t.Errorf("URLs %v in %q", first.Urls, first.Text)
	}
	if len(first.UserMentions) != 2 || len(first.Media) != 1 || first.Media[0].MediaType != "gif" || first.PostType != idl.PostType_REPOST ||
		first.ReqID != 7 || first.Creator.Username != "username_0" {
		t.Errorf("%v", first)
	}
}
