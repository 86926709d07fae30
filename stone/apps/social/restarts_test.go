package social_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/redis"
)

// posters post and read without a pause until they are stopped.
type posters struct {
	t              *testing.T
	composer       idl.ComposePostService
	users          idl.UserTimelineService
	homes          idl.HomeTimelineService
	posted, failed atomic.Int64
	acknowledged   sync.Map // text -> its author's id
	stop           context.CancelFunc
	working        sync.WaitGroup
}

// startPosters has each of the users 0 to number-1 post.
func startPosters(t *testing.T, a *app, number int64) *posters {
	p := &posters{t: t, composer: a.composer(), users: a.userTimelines(), homes: a.homeTimelines()}
	ctx, stop := context.WithCancel(t.Context())
	p.stop = stop
	for user := range number {
		p.working.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				p.post(user, fmt.Sprintf("post %d of %d @username_%d", i, user, (user+1)%number))
				_, _ = p.users.ReadUserTimeline(t.Context(), 1, user, 0, 10, nil)
				_, _ = p.homes.ReadHomeTimeline(t.Context(), 1, user, 0, 10, nil)
			}
		})
	}
	return p
}

func (p *posters) post(user int64, text string) {
	name := fmt.Sprintf("username_%d", user)
	if p.composer.ComposePost(p.t.Context(), 1, name, user, text, nil, nil, idl.PostType_POST, nil) != nil {
		p.failed.Add(1)
		return
	}
	p.acknowledged.Store(text, user)
	p.posted.Add(1)
}

// more waits until so many more were counted.
func (p *posters) more(what string, count *atomic.Int64) {
	p.t.Helper()
	enough := count.Load() + 20
	apptest.Eventually(p.t, what, func() bool { return count.Load() >= enough })
}

// timeline reads all of a user's timeline.
func (p *posters) timeline(user int64) map[string]bool {
	p.t.Helper()
	texts, ids := make(map[string]bool), make(map[int64]bool)
	for start := int32(0); ; start += 1000 {
		posts, err := p.users.ReadUserTimeline(p.t.Context(), 1, user, start, start+1000, nil)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, post := range posts {
			if ids[post.PostID] {
				p.t.Errorf("post %d stands twice in the timeline of %d", post.PostID, user)
			}
			texts[post.Text], ids[post.PostID] = true, true
		}
		if len(posts) == 0 {
			return texts
		}
	}
}

// Stores go away and come back, those in memory empty, while people post: every service goes on without a restart of
// its own, and no post that was acknowledged is missing in its author's timeline.
func TestStoresRestartUnderLoad(t *testing.T) {
	a := startApp(t, "")
	const users = 4
	for user := range int64(users) {
		a.register(user)
		if err := a.graph().Follow(t.Context(), 1, (user+1)%users, user, nil); err != nil {
			t.Fatal(err)
		}
	}
	p := startPosters(t, a, users)
	p.more("people post", &p.posted)
	for _, store := range []string{
		"redis-user-timeline", "redis-home-timeline", "redis-social-graph", "documents", "memcached-post-storage", "redis-user-timeline",
	} {
		if store[:5] == "redis" {
			a.empty(t, store)
		}
		a.Links[store].Cut()
		if store == "memcached-post-storage" {
			p.more("people post without "+store, &p.posted)
		} else {
			p.more("posts fail without "+store, &p.failed)
		}
		a.Links[store].Mend()
		p.more("people post again, with "+store, &p.posted)
	}
	p.stop()
	p.working.Wait()
	timelines := make(map[int64]map[string]bool)
	for user := range int64(users) {
		timelines[user] = p.timeline(user)
	}
	p.acknowledged.Range(func(text, user any) bool {
		if !timelines[user.(int64)][text.(string)] {
			t.Errorf("%q is missing in the timeline of %d", text, user)
		}
		return true
	})
}

// empty has a Redis forget everything, as one does that is restarted.
func (a *app) empty(t *testing.T, name string) {
	t.Helper()
	client, err := redis.Open(8, "", a.Links[name].Address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}
