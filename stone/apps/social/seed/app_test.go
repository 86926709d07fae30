package seed_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"loadstone.dev/stone/apps/social"
	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
)

// The application itself over a seed: it answers as the seed says, and what it stores under load passes Check.
func TestTheApplicationAgreesWithItsSeed(t *testing.T) {
	for _, profile := range []string{"", "dsb-quirks"} {
		t.Run("profile "+profile, func(t *testing.T) {
			app := apptest.Start(t, "social", social.Services, profile, servertest.Postgres)
			s := &stage{t, seeding.Plan{Stores: map[string]string{}, Redis: map[string]string{}, Caches: map[string]string{},
				Profile: profile, Dataset: json.RawMessage(small), Entry: []string{strings.TrimPrefix(app.URL("frontend"), "http://")}}}
			for _, service := range strings.Fields("user social-graph user-timeline post-storage url-shorten media") {
				s.plan.Stores["documents-"+service] = app.Documents
			}
			for name, link := range app.Links {
				if strings.HasPrefix(name, "redis-") {
					s.plan.Redis[name] = link.Address
				} else if name != "documents" {
					s.plan.Caches[name] = link.Address
				}
			}
			app.WaitReady()
			if result := s.run(seeding.Fill); !result.OK {
				t.Fatalf("Fill: %+v", result)
			}
			if result := s.run(seeding.Verify); !result.OK || rowOf(result, "answers").Have != 60 {
				t.Errorf("Verify: %+v", result)
			}
			before := s.run(seeding.Count)
			composeAll(t, app.URL("frontend"), 40)
			after := s.run(seeding.Count)
			for _, collection := range []string{"post", "entries"} {
				if grew := growth(before, after, collection); grew != 40 {
					t.Errorf("%s grew by %d, want 40", collection, grew)
				}
			}
			if result := s.run(seeding.Check); !result.OK || len(result.Rows) != 6 {
				t.Errorf("Check: %+v", result)
			}
			if result := s.run(seeding.Reset); !result.OK {
				t.Errorf("Reset: %+v", result)
			}
			if result := s.run(seeding.Verify); !result.OK {
				t.Errorf("Verify after Reset, through the running application too: %+v", result)
			}
		})
	}
}

// composeAll posts for the first users, several of each at the same time, while they follow and leave each other.
func composeAll(t *testing.T, entry string, posts int) {
	t.Helper()
	var group sync.WaitGroup
	for i := range posts {
		user, other := fmt.Sprint(i%10), fmt.Sprint(30+i)
		group.Go(func() {
			post(t, entry+"/wrk2-api/post/compose", url.Values{"user_id": {user}, "username": {"username_" + user}, "post_type": {"0"},
				"text": {"hello @username_" + other[:1] + " see http://example.org/" + other}, "media_ids": {"[]"}, "media_types": {"[]"}})
		})
		if i%4 == 0 {
			group.Go(func() {
				post(t, entry+"/wrk2-api/user/follow", url.Values{"user_id": {other}, "followee_id": {user}})
				post(t, entry+"/wrk2-api/user/unfollow", url.Values{"user_id": {other}, "followee_id": {user}})
			})
		}
	}
	group.Wait()
}

func post(t *testing.T, address string, form url.Values) {
	answer, err := http.PostForm(address, form)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		t.Errorf("%s: %d %s", address, answer.StatusCode, text)
	}
}

// growth is that of documents.
func growth(before, after seeding.Result, collection string) (grew int) {
	for i, row := range after.Stores {
		if row.Collection == collection && row.Store != "redis-home-timeline" {
			grew += row.Have - before.Stores[i].Have
		}
	}
	return grew
}
