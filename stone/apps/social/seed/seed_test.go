package seed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/apps/social/seed"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/redis"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
)

const small = `{"users": 60, "edges": 300, "posts_per_user": 4}`

// stage is one server of documents, where services stay apart by database, and two Redis.
type stage struct {
	t    testing.TB
	plan seeding.Plan
}

func newStage(t testing.TB, address string, dataset string) *stage {
	plan := seeding.Plan{Stores: map[string]string{}, Dataset: json.RawMessage(dataset),
		Redis: map[string]string{"redis-home-timeline": servertest.Redis(t), "redis-social-graph": servertest.Redis(t)}}
	for _, service := range strings.Fields("user social-graph user-timeline post-storage url-shorten media") {
		plan.Stores["documents-"+service] = address
	}
	return &stage{t, plan}
}

func (s *stage) seed() *seed.Seed {
	s.t.Helper()
	made, err := seed.New(s.plan)
	check(s.t, err)
	return made
}

func (s *stage) run(mode seeding.Mode) seeding.Result {
	s.t.Helper()
	result, err := seeding.Run(s.t.Context(), s.plan, s.seed(), mode)
	check(s.t, err)
	return result
}

// in does something to a collection.
func (s *stage) in(at documents.Location, do func(documents.Collection)) {
	s.t.Helper()
	store, err := documents.Open(s.t.Context(), s.plan.Stores["documents-"+at.Service])
	check(s.t, err)
	defer func() { check(s.t, store.Close(s.t.Context())) }()
	do(at.In(store))
}

func (s *stage) user(id int64) (user data.User) {
	s.t.Helper()
	s.in(data.Users, func(c documents.Collection) {
		check(s.t, c.Get(s.t.Context(), &user, documents.Equal("user_id", id)))
	})
	return user
}

// load does what services do for one post.
func (s *stage) load(post data.Post) {
	s.t.Helper()
	s.in(data.Posts, func(c documents.Collection) { check(s.t, c.Insert(s.t.Context(), post)) })
	entry := data.Entry{PostID: post.PostID, Timestamp: post.Timestamp}
	s.in(data.UserTimelines, func(c documents.Collection) {
		check(s.t, c.Push(s.t.Context(), documents.Equal("user_id", post.Creator.UserID), "posts", entry, "post_id"))
	})
	var author data.Node
	s.in(data.Graph, func(c documents.Collection) {
		check(s.t, c.Get(s.t.Context(), &author, documents.Equal("user_id", post.Creator.UserID)))
	})
	for _, follower := range author.Followers {
		s.home("ZADD", follower.UserID, post.Timestamp, post.PostID)
	}
	for _, mention := range post.UserMentions {
		s.home("ZADD", mention.UserID, post.Timestamp, post.PostID)
	}
}

// home sends a command to the home timelines.
func (s *stage) home(command ...any) { s.redis("redis-home-timeline", command...) }

func (s *stage) redis(name string, command ...any) any {
	s.t.Helper()
	client, err := redis.Open(8, "", s.plan.Redis[name])
	check(s.t, err)
	defer func() { check(s.t, client.Close()) }()
	answer, err := client.Do(context.Background(), command...).Result()
	check(s.t, err)
	return answer
}

// Both adapters keep the seed alike, and Redis with them.
func TestOnRealStores(t *testing.T) {
	behaviours := map[string]func(*testing.T, *stage){
		"FillTwiceIsFillOnce":            fillTwiceIsFillOnce,
		"AKilledRunIsCompletedByAnother": aKilledRunIsCompletedByAnother,
		"ResetRestoresTheCopyOfThisSeed": resetRestoresTheCopyOfThisSeed,
		"VerifySeesWhatIsWrong":          verifySeesWhatIsWrong,
		"CheckPassesWhatServicesStore":   checkPassesWhatServicesStore, // check_test.go
	}
	for adapter, server := range map[string]func(testing.TB) string{"postgres": servertest.Postgres, "mongo": servertest.Mongo} {
		t.Run(adapter, func(t *testing.T) {
			address := server(t)
			for name, behaviour := range behaviours {
				t.Run(name, func(t *testing.T) {
					s := newStage(t, address, small)
					for _, at := range []documents.Location{data.Users, data.Graph, data.UserTimelines, data.Posts, data.URLs, data.Media} {
						s.in(at, func(c documents.Collection) { check(t, c.Clear(t.Context())) })
					}
					behaviour(t, s)
				})
			}
		})
	}
}

func fillTwiceIsFillOnce(t *testing.T, s *stage) {
	if before := s.run(seeding.Verify); before.OK || have(before, "user") != 0 {
		t.Errorf("before: %+v", before)
	}
	s.redis("redis-social-graph", "SET", "0:followers", "old")
	s.wantSeed(s.run(seeding.Fill))
	hash := s.user(7).Password
	s.wantSeed(s.run(seeding.Fill))
	if s.user(7).Password != hash {
		t.Error("the second run wrote again what was there")
	}
	s.wantSeed(s.run(seeding.Verify))
	if counted := s.run(seeding.Count); !counted.OK || have(counted, "user") != 60 {
		t.Errorf("Count: %+v", counted)
	}
	if size := s.redis("redis-social-graph", "DBSIZE"); size != int64(0) {
		t.Errorf("a Redis that only remembers still has %v keys", size)
	}
}

// A run that is killed is one whose context ends: after any number of lines of progress.
func aKilledRunIsCompletedByAnother(t *testing.T, s *stage) {
	for lost := range 4 {
		ctx, kill := context.WithCancel(t.Context())
		s.plan.Progress = writer(func() {
			if lost--; lost < 0 {
				kill()
			}
		})
		_, err := seeding.Run(ctx, s.plan, s.seed(), seeding.Fill)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Logf("killed: %v", err)
		}
		kill()
	}
	s.plan.Progress = nil
	// What a run leaves that was killed at the worst time: half of everything.
	s.run(seeding.Fill)
	s.in(data.Users, func(c documents.Collection) {
		var all []data.User
		check(t, c.Find(t.Context(), &all, documents.Query{}))
		check(t, c.Clear(t.Context()))
		for _, user := range all[:30] {
			check(t, c.Put(t.Context(), documents.Keyed{Key: fmt.Sprint(user.UserID), Document: user}))
		}
	})
	s.in(data.Posts, func(c documents.Collection) { check(t, c.Clear(t.Context())) })
	s.home("DEL", "5")
	s.wantSeed(s.run(seeding.Fill))
}

type writer func()

func (w writer) Write(line []byte) (int, error) { w(); return len(line), nil }

var _ io.Writer = writer(nil)

func resetRestoresTheCopyOfThisSeed(t *testing.T, s *stage) {
	s.wantSeed(s.run(seeding.Fill))
	hash := s.user(7).Password
	s.use(7)
	if s.run(seeding.Verify).OK {
		t.Error("Verify calls stores good that were used")
	}
	s.wantSeed(s.run(seeding.Reset))
	if s.user(7).Password != hash {
		t.Error("the stores were filled again: the password has another hash")
	}
	s.wantSeed(s.run(seeding.Verify))
	if size := s.redis("redis-social-graph", "DBSIZE"); size != int64(0) {
		t.Errorf("a Redis that only remembers still has %v keys", size)
	}

	// A Fill of stores that were used is not kept, and another dataset is not restored from this one's copy.
	s.use(7)
	if s.run(seeding.Fill).OK {
		t.Error("Fill calls stores good that were used")
	}
	s.wantSeed(s.run(seeding.Reset))
	s.plan.Dataset = json.RawMessage(`{"users": 60, "edges": 301, "posts_per_user": 4}`)
	s.wantSeed(s.run(seeding.Reset))
	s.wantSeed(s.run(seeding.Verify))
	if s.user(7).Password == hash {
		t.Error("another dataset has the same users' hashes: they were restored")
	}
	s.plan.Profile = "dsb-quirks"
	if s.run(seeding.Verify).OK {
		t.Error("default users pass for those of dsb-quirks")
	}
	s.wantSeed(s.run(seeding.Reset))
	s.wantSeed(s.run(seeding.Verify))
}

// A Redis that was started anew has no copy, or an old one.
func TestResetFillsWhereOneStoreHasNoCopy(t *testing.T) {
	s := newStage(t, servertest.Postgres(t), small)
	s.wantSeed(s.run(seeding.Fill))
	for _, forget := range []string{"redis.call('FLUSHALL') return 1", "redis.call('SELECT', 1) redis.call('FLUSHDB') redis.call('SET', 'kept', 'older') return 1"} {
		hash := s.user(7).Password
		s.use(7)
		s.home("EVAL", forget, 0)
		s.wantSeed(s.run(seeding.Reset))
		s.wantSeed(s.run(seeding.Verify))
		if s.user(7).Password == hash {
			t.Errorf("%s: the stores were not filled again", forget)
		}
	}
}

// use does what load does: a user, a follow, a post, a file.
func (s *stage) use(follower int64) {
	s.t.Helper()
	s.in(data.Users, func(c documents.Collection) {
		check(s.t, c.Insert(s.t.Context(), data.User{UserID: 1 << 60, Username: "new"}))
	})
	s.in(data.Graph, func(c documents.Collection) {
		check(s.t, c.Push(s.t.Context(), documents.Equal("user_id", 3), "followers", data.Edge{UserID: 1 << 60, Timestamp: 1}, "user_id"))
	})
	s.in(data.Media, func(c documents.Collection) {
		check(s.t, c.Insert(s.t.Context(), data.File{Filename: "1.png", File: []byte{0, 1}}))
	})
	s.load(data.Post{PostID: 1 << 61, Timestamp: 2e12, Creator: data.Creator{UserID: 3}})
	s.home("ZADD", follower, 1, 1)
	s.home("ZADD", 1<<60, 1, 1)
	s.redis("redis-social-graph", "SET", "0:followers", "old")
}

func verifySeesWhatIsWrong(t *testing.T, s *stage) {
	s.wantSeed(s.run(seeding.Fill))
	changed := s.user(7)
	changed.Password = s.user(8).Password
	s.put(data.Users, 7, changed)
	var node data.Node
	s.in(data.Graph, func(c documents.Collection) {
		check(t, c.Get(t.Context(), &node, documents.Equal("user_id", 9)))
	})
	node.Followers[0].Timestamp++
	s.put(data.Graph, 9, node)
	var post data.Post
	s.in(data.Posts, func(c documents.Collection) { check(t, c.Get(t.Context(), &post)) })
	post.Text = "another"
	s.put(data.Posts, int(post.PostID), post)
	member := s.redis("redis-home-timeline", "ZPOPMIN", "5").([]any)[0]
	s.home("ZADD", "5", 17, member)

	result := s.run(seeding.Verify)
	for collection, want := range map[string]int{"user": 1, "social-graph": 1, "post": 1, "url-shorten": 0, "user-timeline": 0} {
		if row := rowOf(result, collection); row.Differing != want || row.Have != row.Want {
			t.Errorf("%+v, want %d differing", row, want)
		}
	}
	if row := result.Stores[6]; row.Store != "redis-home-timeline" || row.Differing != 1 || result.OK {
		t.Errorf("%+v, ok %v, want 1 differing", row, result.OK)
	}
}

func (s *stage) put(at documents.Location, key int, document any) {
	s.t.Helper()
	s.in(at, func(c documents.Collection) {
		check(s.t, c.Put(s.t.Context(), documents.Keyed{Key: fmt.Sprint(key), Document: document}))
	})
}

func TestErrorsNameStoreAndCollection(t *testing.T) {
	s := newStage(t, servertest.Postgres(t), small)
	s.in(data.Users, func(c documents.Collection) {
		check(t, c.Insert(t.Context(), data.User{UserID: 7, Username: "username_7"}))
	})
	s.in(data.Users, func(c documents.Collection) { check(t, c.EnsureIndex(t.Context(), "user_id", true)) })
	_, err := seeding.Run(t.Context(), s.plan, s.seed(), seeding.Fill)
	if !errors.Is(err, documents.ErrDuplicate) || !strings.Contains(err.Error(), "store documents-user, collection user: ") {
		t.Errorf("a user who is there already: %v", err)
	}
	s.wantSeed(s.run(seeding.Reset))
	s.home("SET", "5", "no timeline")
	_, err = seeding.Run(t.Context(), s.plan, s.seed(), seeding.Check)
	if err == nil || !strings.Contains(err.Error(), "store redis-home-timeline: ") {
		t.Errorf("a key that is no timeline: %v", err)
	}
	delete(s.plan.Redis, "redis-home-timeline")
	if _, err = seeding.Run(t.Context(), s.plan, s.seed(), seeding.Count); !errors.Is(err, seeding.ErrPlan) {
		t.Errorf("no Redis for home timelines: %v", err)
	}
}

// wantSeed wants every row to be as it should, and the rows that there are.
func (s *stage) wantSeed(result seeding.Result) {
	s.t.Helper()
	var names []string
	for _, row := range result.Stores {
		names = append(names, row.Store+"/"+row.Collection)
		empty := row.Collection == "media"
		if row.Have != row.Want || row.Differing != 0 || (row.Want == 0) != empty {
			s.t.Errorf("row %+v", row)
		}
	}
	slices.Sort(names)
	const want = "[media/media post-storage/post redis-home-timeline/entries social-graph/social-graph " +
		"url-shorten/url-shorten user-timeline/entries user-timeline/user-timeline user/user]"
	if !result.OK || fmt.Sprint(names) != want {
		s.t.Errorf("ok %v, %v", result.OK, names)
	}
}

func rowOf(result seeding.Result, collection string) seeding.Row {
	for _, row := range result.Stores {
		if row.Collection == collection {
			return row
		}
	}
	return seeding.Row{}
}

func have(result seeding.Result, collection string) int { return rowOf(result, collection).Have }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
