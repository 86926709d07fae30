package seed_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/redis"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
)

// frontend answers from the stores, as the application does; spoil changes an answer.
type frontend struct {
	s     *stage
	texts bool // ids and times are texts, and an empty list is an empty object
	spoil func(kind string, posts []map[string]any) []map[string]any
}

func (f *frontend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/user/login" {
		if r.Method != http.MethodPost || "password"+strings.TrimPrefix(r.PostFormValue("username"), "username") != r.PostFormValue("password") {
			http.Error(w, "User login failure: wrong password", http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, "../../main.html", http.StatusFound)
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/wrk2-api/") {
		http.NotFound(w, r)
		return
	}
	user, _ := strconv.ParseInt(r.FormValue("user_id"), 10, 64)
	kind := strings.Split(r.URL.Path, "/")[2]
	posts := []map[string]any{}
	for _, post := range f.read(kind, user) {
		posts = append(posts, map[string]any{"post_id": post.PostID, "timestamp": post.Timestamp,
			"creator": map[string]any{"user_id": post.Creator.UserID}})
	}
	if f.spoil != nil {
		posts = f.spoil(kind, posts)
	}
	answer, _ := json.Marshal(posts)
	if f.texts {
		for _, post := range posts {
			post["timestamp"] = fmt.Sprint(post["timestamp"])
			post["creator"] = map[string]any{"user_id": fmt.Sprint(post["creator"].(map[string]any)["user_id"])}
		}
		if answer, _ = json.Marshal(posts); len(posts) == 0 {
			answer = []byte("{}")
		}
	}
	_, _ = w.Write(answer)
}

// read returns the ten newest posts.
func (f *frontend) read(kind string, user int64) (posts []data.Post) {
	t := f.s.t
	var ids []int64
	if kind == "user-timeline" {
		var timelines []data.Timeline
		f.s.in(data.UserTimelines, func(c documents.Collection) {
			check(t, c.Find(t.Context(), &timelines, documents.Query{Where: []documents.Condition{documents.Equal("user_id", user)}}))
		})
		for _, timeline := range timelines {
			for _, entry := range timeline.Posts {
				ids = append(ids, entry.PostID)
			}
		}
	} else {
		client, err := redis.Open(8, "", f.s.plan.Redis["redis-home-timeline"])
		check(t, err)
		check(t, client.ZRangeArgs(t.Context(), goredis.ZRangeArgs{Key: fmt.Sprint(user), Start: 0, Stop: -1, Rev: true}).ScanSlice(&ids))
		check(t, client.Close())
	}
	f.s.in(data.Posts, func(c documents.Collection) {
		for _, id := range ids[:min(10, len(ids))] {
			var post data.Post
			check(t, c.Get(t.Context(), &post, documents.Equal("post_id", id)))
			posts = append(posts, post)
		}
	})
	return posts
}

func TestTheApplicationIsChecked(t *testing.T) {
	s := newStage(t, servertest.Postgres(t), small)
	s.wantSeed(s.run(seeding.Fill))
	front := &frontend{s: s}
	server := httptest.NewServer(front)
	t.Cleanup(server.Close)
	s.plan.Entry = []string{strings.TrimPrefix(server.URL, "http://")}
	for _, front.texts = range []bool{false, true} {
		if row := rowOf(s.run(seeding.Verify), "answers"); row.Want != 60 || row.Have != 60 {
			t.Errorf("texts %v: Verify: %+v", front.texts, row)
		}
		if row := s.run(seeding.Check).Rows[5]; row.Want != 60 || !row.OK || row.Have != 60 {
			t.Errorf("texts %v: Check: %+v", front.texts, row)
		}
	}
	for says, spoil := range map[string]func(kind string, posts []map[string]any) []map[string]any{
		"posts, want": func(_ string, posts []map[string]any) []map[string]any { return posts[:max(len(posts)-1, 0)] },
		"stands below an older one": func(_ string, posts []map[string]any) []map[string]any {
			for _, post := range posts[:min(1, len(posts))] {
				post["timestamp"] = 1
			}
			return posts
		},
		"is of user": func(kind string, posts []map[string]any) []map[string]any {
			for _, post := range posts {
				if kind == "user-timeline" {
					post["creator"] = map[string]any{"user_id": 9999}
				}
			}
			return posts
		},
	} {
		front.spoil = spoil
		row := s.run(seeding.Check).Rows[5]
		if row.OK || row.Have >= 60 || !strings.Contains(row.Examples[0], says) {
			t.Errorf("%s: %+v", says, row)
		}
	}
	front.spoil = nil
	s.plan.Entry = []string{strings.TrimPrefix(server.URL, "http://") + "/elsewhere"}
	if row := s.run(seeding.Check).Rows[5]; row.OK || row.Have != 0 {
		t.Errorf("another path: %+v", row)
	}
	server.Close()
	if row := rowOf(s.run(seeding.Verify), "answers"); row.Have != 0 {
		t.Errorf("no application: %+v", row)
	}
}
