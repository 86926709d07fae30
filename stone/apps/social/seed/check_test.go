package seed_test

import (
	"fmt"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
)

// What Check compares, in its order.
const (
	listed = iota
	owned
	inOrder
	delivered
	homes
)

const now = int64(1_900_000_000_000)

// loaded is a post by user 3 that mentions users 4 and 3.
func loaded(id, timestamp int64) data.Post {
	return data.Post{PostID: id, Timestamp: timestamp, Creator: data.Creator{UserID: 3, Username: "username_3"},
		UserMentions: []data.Creator{{UserID: 4, Username: "username_4"}, {UserID: 3, Username: "username_3"}}}
}

func checkPassesWhatServicesStore(t *testing.T, s *stage) {
	s.wantFindings("empty stores")
	s.wantSeed(s.run(seeding.Fill))
	for i := range int64(5) {
		s.load(loaded(1<<62+i, now+i))
	}
	// Two at a time: the second stands above the first. The clocks of two services differ by less than a minute.
	s.load(loaded(1<<61, now-1000))
	// Who began to follow just now may have missed a post or not.
	s.in(data.Graph, func(c documents.Collection) {
		check(t, c.Push(t.Context(), documents.Equal("user_id", 3), "followers", data.Edge{UserID: 3, Timestamp: now}, "user_id"))
	})
	// Who followed no more keeps old posts.
	s.in(data.Graph, func(c documents.Collection) {
		var node data.Node
		check(t, c.Get(t.Context(), &node, documents.Equal("user_id", 5)))
		check(t, c.Pull(t.Context(), documents.Equal("user_id", 5), "followers", "user_id", node.Followers[0].UserID))
	})
	s.wantFindings("stores as services leave them")
	result := s.run(seeding.Check)
	for i, at := range []int{listed, delivered} {
		if row := result.Rows[at]; row.Have != have(s.run(seeding.Count), "post") {
			t.Errorf("%d: %+v, want all posts", i, row)
		}
	}
}

func TestCheckFindsWhatDoesNotAgree(t *testing.T) {
	s := newStage(t, servertest.Postgres(t), small)
	s.wantSeed(s.run(seeding.Fill))
	const one, two = int64(1<<62 + 1), int64(1<<62 + 2)
	for name, example := range map[string]struct {
		spoil func()
		wrong map[int]string // what is found, and an example of it
	}{
		"a post that is in no timeline": {
			func() {
				s.in(data.Posts, func(c documents.Collection) { check(t, c.Insert(t.Context(), loaded(two, now))) })
			},
			map[int]string{listed: fmt.Sprintf("post %d of user 3", two), delivered: fmt.Sprintf("post %d of user 3 is not in", two)},
		},
		"a post that is lost": {
			func() { s.lose(one) },
			map[int]string{owned: fmt.Sprintf("user 3: post %d is not stored", one), homes: fmt.Sprintf("post %d is not stored", one)},
		},
		"a post in another user's timeline": {
			func() { s.push(9, data.Entry{PostID: one, Timestamp: now}) },
			map[int]string{owned: fmt.Sprintf("user 9: post %d is of user 3", one)},
		},
		"a post that is there twice": {
			func() { s.push(3, data.Entry{PostID: one, Timestamp: now}) },
			map[int]string{owned: fmt.Sprintf("user 3: post %d is there again", one)},
		},
		"another time in the user timeline": {
			func() {
				s.in(data.UserTimelines, func(c documents.Collection) {
					check(t, c.Pull(t.Context(), documents.Equal("user_id", 3), "posts", "post_id", one))
				})
				s.push(3, data.Entry{PostID: one, Timestamp: now + 1})
			},
			map[int]string{owned: fmt.Sprintf("user 3: post %d is of %d, not of %d", one, now, now+1)},
		},
		"an older post on top": {
			func() { s.load(loaded(two, now-61_000)) },
			map[int]string{inOrder: fmt.Sprintf("post %d of user 3 stands below an older one", one)},
		},
		"a follower without the post": {
			func() { s.home("ZREM", s.follower(3), one) },
			map[int]string{delivered: fmt.Sprintf("post %d of user 3 is not in 1 of", one)},
		},
		"a user mentioned without the post": {
			func() { s.home("ZREM", 4, one) },
			map[int]string{delivered: "such as that of user 4"},
		},
		"another time in a home timeline": {
			func() { s.home("ZADD", 4, now+5, one) },
			map[int]string{delivered: "such as that of user 4", homes: fmt.Sprintf("user 4: post %d is of %d, not of %d", one, now, now+5)},
		},
		"a home timeline with a post that is none": {
			func() { s.home("ZADD", 4, now, "x") },
			map[int]string{homes: "user 4: post 0 is not stored"},
		},
	} {
		s.run(seeding.Reset)
		s.load(loaded(one, now))
		s.wantFindings(name + ", before")
		example.spoil()
		result := s.run(seeding.Check)
		for at, row := range result.Rows {
			says, wrong := example.wrong[at]
			if row.OK == wrong || wrong && (row.Have >= row.Want || !strings.Contains(strings.Join(row.Examples, "\n"), says)) {
				t.Errorf("%s: %+v, want %q", name, row, says)
			}
		}
		if result.OK {
			t.Errorf("%s: ok", name)
		}
	}
}

func TestCheckToleratesWhatIsUnfinished(t *testing.T) {
	s := newStage(t, servertest.Postgres(t), small)
	s.wantSeed(s.run(seeding.Fill))
	for i := range int64(7) {
		s.in(data.Posts, func(c documents.Collection) { check(t, c.Insert(t.Context(), loaded(1<<62+i, now))) })
	}
	for unfinished, ok := range map[int]bool{6: false, 7: true, 8: true} {
		s.plan.Unfinished = unfinished
		result := s.run(seeding.Check)
		if result.OK != ok {
			t.Errorf("%d unfinished: %+v", unfinished, result)
		}
		if row := result.Rows[listed]; row.Want-row.Have != 7 || len(row.Examples) != 5 {
			t.Errorf("%+v, want 7 missing and 5 examples", row)
		}
	}
}

// With the published cache of followers, a post may reach a part of them; that is reported all the same.
func TestCheckOfQuirksTellsWhatIsNotDelivered(t *testing.T) {
	s := newStage(t, servertest.Postgres(t), small)
	s.plan.Profile = "dsb-quirks"
	s.wantSeed(s.run(seeding.Fill))
	s.load(loaded(1<<62, now))
	s.home("ZREM", s.follower(3), int64(1<<62))
	if result := s.run(seeding.Check); !result.OK || result.Rows[delivered].Have != result.Rows[delivered].Want-1 {
		t.Errorf("%+v", result)
	}
}

// lose removes a post from the store of posts alone.
func (s *stage) lose(id int64) {
	s.t.Helper()
	s.in(data.Posts, func(c documents.Collection) {
		var all []data.Post
		check(s.t, c.Find(s.t.Context(), &all, documents.Query{}))
		check(s.t, c.Clear(s.t.Context()))
		for _, post := range all {
			if post.PostID != id {
				check(s.t, c.Insert(s.t.Context(), post))
			}
		}
	})
}

func (s *stage) push(user int64, entry data.Entry) {
	s.t.Helper()
	s.in(data.UserTimelines, func(c documents.Collection) {
		check(s.t, c.Push(s.t.Context(), documents.Equal("user_id", user), "posts", entry, ""))
	})
}

// follower is a user's first follower.
func (s *stage) follower(user int64) int64 {
	s.t.Helper()
	var node data.Node
	s.in(data.Graph, func(c documents.Collection) {
		check(s.t, c.Get(s.t.Context(), &node, documents.Equal("user_id", user)))
	})
	for _, follower := range node.Followers {
		if follower.UserID != 4 { // who is mentioned
			return follower.UserID
		}
	}
	s.t.Fatalf("user %d has no follower", user)
	return 0
}

func (s *stage) wantFindings(when string) {
	s.t.Helper()
	result := s.run(seeding.Check)
	if !result.OK || len(result.Rows) != 5 {
		s.t.Errorf("%s: %+v", when, result)
	}
	for _, row := range result.Rows {
		if row.Want != row.Have || !row.OK || len(row.Examples) != 0 {
			s.t.Errorf("%s: %+v", when, row)
		}
	}
}
