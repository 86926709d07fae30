package social_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const incomplete = "Incomplete arguments\n"

func testRegistering(t *testing.T, s *subject) {
	const path = "/wrk2-api/user/register"
	ann := s.register(t, 1)[0]
	complete := func(name string, id any) []string {
		return []string{"first_name=F", "last_name=L", "username=" + name, "password=p", fmt.Sprintf("user_id=%v", id)}
	}
	s.expectNothingStored(t, "registering what is wrong", func() {
		s.post(t, path, "", complete(ann.name, s.next)...).expect(t, "a name that is taken", 500,
			"User registration failure: User "+ann.name+" already existed\n")
		for missing := range complete("x", 1) {
			less := slices.Delete(complete("x", 1), missing, missing+1)
			s.post(t, path, "", less...).expect(t, fmt.Sprint(less), 400, incomplete)
		}
		for _, id := range []string{"x", "-1", "1.5", "9223372036854775808", "1 2"} {
			s.post(t, path, "", complete("fresh", id)...).expect(t, "id "+id, 400, "user_id: ")
		}
		for _, name := range []string{"two words", "é", "a\x00b", "\xff", "<b>", strings.Repeat("x", 1000)} {
			if got := s.post(t, path, "", complete(name, s.next)...); got.status != s.either(400, 500) {
				t.Errorf("name %.20q: %d %s", name, got.status, got.body)
			}
		}
		odd := complete("fresh", s.next)
		for i, value := range map[int]string{0: "first_name=\xff", 1: "last_name=" + strings.Repeat("x", 1000), 3: "password=" + strings.Repeat("x", 73)} {
			with := slices.Clone(odd)
			with[i] = value
			if got := s.post(t, path, "", with...); got.status != s.either(400, 500) {
				t.Errorf("%.20q: %d %s", value, got.status, got.body)
			}
		}
	})
	s.next++
	s.get(t, path, "", complete(fmt.Sprintf("by_query_%d", s.next), s.next)...).expect(t, "by a query", 200, "Success!\n")
	s.next++
}

func testFollowing(t *testing.T, s *subject) {
	people := s.register(t, 3)
	ann, bob, eve := people[0], people[1], people[2]
	cookie := s.logIn(t, ann)
	followees := func(want ...person) {
		t.Helper()
		var ids []any
		for _, one := range s.list(t, s.get(t, "/api/user/get_followee", cookie)) {
			ids = append(ids, one.(map[string]any)["followee_id"])
		}
		if len(ids) != len(want) {
			t.Errorf("%v are followed, want %v", ids, want)
		}
		for _, one := range want {
			if !slices.Contains(ids, s.id(one)) {
				t.Errorf("%v are followed, want %v", ids, want)
			}
		}
	}
	unknown := func() {
		t.Helper()
		if s.quirks { // published: an empty list is an error
			s.get(t, "/api/user/get_followee", cookie).expect(t, "no followees", 500, "Get followees failure: ")
			return
		}
		followees()
	}
	unknown()
	s.follow(t, ann, bob)
	s.follow(t, ann, bob) // again
	s.post(t, "/wrk2-api/user/follow", "", "user_name="+ann.name, "followee_name="+eve.name).expect(t, "by name", 200, "Success!")
	followees(bob, eve)
	s.post(t, "/wrk2-api/user/unfollow", "", "user_id="+ann.String(), "followee_id="+bob.String()).expect(t, "unfollow", 200, "Success!")
	followees(eve)
	s.post(t, "/wrk2-api/user/unfollow", "", "user_name="+ann.name, "followee_name="+eve.name).expect(t, "by name", 200, "Success!")
	unknown()
	s.post(t, "/wrk2-api/user/unfollow", "", "user_id="+ann.String(), "followee_id="+bob.String()).expect(t, "a user that is not followed", 200, "Success!")

	for path, failure := range map[string]string{"follow": "Follow Failed: ", "unfollow": "Unfollow Failed: "} {
		s.expectNothingStored(t, path, func() {
			path = "/wrk2-api/user/" + path
			s.post(t, path, "", "user_name="+ann.name, "followee_name=nobody_at_all").expect(t, "an unknown name", 500, failure)
			s.post(t, path, "", "user_name=nobody_at_all", "followee_name="+ann.name).expect(t, "an unknown name", 500, failure)
			s.post(t, path, "").expect(t, "nothing", 400, incomplete)
			s.post(t, path, "", "user_id=1").expect(t, "no followee", 400, incomplete)
			s.post(t, path, "", "user_id=1", "followee_name=x").expect(t, "half an id, half a name", 400, incomplete)
			s.post(t, path, "", "user_id=x", "followee_id=1").expect(t, "no number", 400, "user_id: ")
			s.post(t, path, "", "user_id=1", "followee_id=-1").expect(t, "a negative id", 400, "followee_id: ")
		})
	}
	s.post(t, "/wrk2-api/user/follow", "", "user_id="+ann.String(), fmt.Sprintf("followee_id=%d", int64(1<<62))).expect(t, "an unknown id", 200, "Success!")
}

func testPosting(t *testing.T, s *subject) {
	people := s.register(t, 3)
	ann, bob, eve := people[0], people[1], people[2]
	s.follow(t, bob, ann)
	before := time.Now()
	s.compose(t, ann, `é "quoted" @`+eve.name+` @no_such_user http://example.org/path`, "media_ids=[\"012\",9223372036854775807]", `media_types=["png","gif"]`).
		expect(t, "compose", 200, "Successfully upload post")
	for kind, of := range map[string]person{"user": ann, "home": bob} {
		posts := s.timeline(t, kind, of, 0, 10)
		if len(posts) != 1 {
			t.Fatalf("the %s timeline has %d posts: %v", kind, len(posts), posts)
		}
		s.expectPost(t, posts[0], ann, eve, before)
	}
	if posts := s.timeline(t, "home", eve, 0, 10); len(posts) != 1 {
		t.Errorf("who is mentioned sees %d posts", len(posts))
	}
	if posts := s.timeline(t, "home", ann, 0, 10); len(posts) != 0 {
		t.Errorf("the author's own home timeline has %d posts", len(posts))
	}
	s.send(t, "GET", s.base+"/wrk2-api/post/compose?"+form("username="+ann.name, "user_id="+ann.String(), "text=x", "post_type=3"), "", "", "").
		expect(t, "by a query", 200, "Successfully upload post")
	// As load scripts send it: nothing is escaped, no type is named.
	s.send(t, "POST", s.base+"/wrk2-api/post/compose", "", "", "username="+ann.name+"&user_id="+ann.String()+"&text=100% @"+eve.name+" http://a.b&media_ids=[]&media_types=[]&post_type=0").
		expect(t, "without escapes", 200, "Successfully upload post")
	posts := s.timeline(t, "user", ann, 0, 10)
	if len(posts) != 3 || posts[1]["text"] != "x" || posts[1]["post_type"] != json.Number("3") || !strings.HasPrefix(posts[0]["text"].(string), "100% @"+eve.name+" http://short-url/") {
		t.Errorf("posts %v", posts)
	}
}

// expectPost checks every field of what testPosting posted.
func (s *subject) expectPost(t *testing.T, post map[string]any, author, mentioned person, before time.Time) {
	t.Helper()
	if creator := post["creator"].(map[string]any); creator["user_id"] != s.id(author) || creator["username"] != author.name {
		t.Errorf("creator %v", creator)
	}
	urls := s.array(t, post["urls"])
	if len(urls) != 1 || urls[0].(map[string]any)["expanded_url"] != "http://example.org" {
		t.Fatalf("urls %v", urls)
	}
	short := urls[0].(map[string]any)["shortened_url"].(string)
	want := `é "quoted" @` + mentioned.name + ` @no_such_user ` + short
	if !s.quirks { // published: what follows the last address is lost
		want += "/path"
	}
	if post["text"] != want || len(short) != len("http://short-url/")+10 {
		t.Errorf("text %q, want %q", post["text"], want)
	}
	mentions := s.array(t, post["user_mentions"])
	if len(mentions) != 1 || mentions[0].(map[string]any)["user_id"] != s.id(mentioned) || mentions[0].(map[string]any)["username"] != mentioned.name {
		t.Errorf("mentions %v", mentions)
	}
	media := s.array(t, post["media"])
	if len(media) != 2 || media[0].(map[string]any)["media_id"] != s.id(12) || media[1].(map[string]any)["media_id"] != s.id(int64(1<<63-1)) ||
		media[1].(map[string]any)["media_type"] != "gif" {
		t.Errorf("media %v", media)
	}
	for _, name := range []string{"post_id", "req_id", "timestamp"} {
		var number int64
		if _, err := fmt.Sscan(fmt.Sprint(post[name]), &number); err != nil || number <= 0 || post[name] != s.id(number) {
			t.Errorf("%s %v", name, post[name])
		}
		if name == "timestamp" && number < before.Add(-time.Hour).UnixMilli() { // by another host's clock
			t.Errorf("timestamp %d is long before %v", number, before)
		}
	}
	if post["post_type"] != json.Number("0") || len(post) != 9 {
		t.Errorf("post %v", post)
	}
}

func testReading(t *testing.T, s *subject) {
	people := s.register(t, 2)
	ann, bob := people[0], people[1]
	s.follow(t, bob, ann)
	for number := range 5 {
		s.compose(t, ann, fmt.Sprint(number)).expect(t, "compose", 200, "")
	}
	for kind, of := range map[string]person{"user": ann, "home": bob} {
		for stretch, want := range map[[2]int]string{{0, 10}: "43210", {0, 2}: "43", {1, 3}: "32", {4, 9}: "0", {5, 9}: "", {3, 3}: ""} {
			texts := ""
			for _, post := range s.timeline(t, kind, of, stretch[0], stretch[1]) {
				texts += post["text"].(string)
			}
			if texts != want {
				t.Errorf("%s timeline %v: %q, want %q", kind, stretch, texts, want)
			}
		}
		path := "/wrk2-api/" + kind + "-timeline/read"
		if unknown := s.list(t, s.get(t, path, "", "user_id=4611686018427387904", "start=0", "stop=10")); len(unknown) != 0 {
			t.Errorf("a user that is not there has %v", unknown)
		}
		for _, parameters := range [][]string{{"start=0", "stop=1"}, {"user_id=1", "stop=1"}, {"user_id=1", "start=0"}} {
			s.get(t, path, "", parameters...).expect(t, fmt.Sprint(parameters), 400, incomplete)
		}
		for _, odd := range []string{"user_id=x", "user_id=-1", "start=x", "stop=2147483648", "stop=1.5"} {
			name, _, _ := strings.Cut(odd, "=")
			s.get(t, path, "", odd, "user_id=1", "start=0", "stop=1").expect(t, odd, 400, name+": ")
		}
		for _, stretch := range [][]string{{"start=-1", "stop=1"}, {"start=3", "stop=2"}, {"start=0", "stop=-1"}} {
			got := s.get(t, path, "", append(stretch, "user_id="+of.String())...)
			if s.quirks {
				s.list(t, got)
			} else {
				got.expect(t, fmt.Sprint(stretch), 400, "Get "+kind+"-timeline failure: ")
			}
		}
		if got := s.get(t, path, "", "user_id="+of.String(), "start=0", "stop=1001"); got.status != s.either(400, 200) {
			t.Errorf("1001 posts: %d %s", got.status, got.body)
		}
	}
}

func testOddPosts(t *testing.T, s *subject) {
	people := s.register(t, 2)
	ann, bob := people[0], people[1]
	s.follow(t, bob, ann)
	s.expectNothingStored(t, "posting what is wrong", func() {
		for name, parameters := range map[string][]string{
			"a long text":           {"text=" + strings.Repeat("x", 64<<10+1)},
			"10,000 mentions":       {"text=" + strings.Repeat("@a ", 10000)},
			"10,000 addresses":      {"text=" + strings.Repeat("http://a ", 7000)},
			"broken UTF-8":          {"text=a\xff\xfeb"},
			"NUL":                   {"text=a\x00b"},
			"a type that is none":   {"media_ids=[1]", `media_types=["exe"]`},
			"types without ids":     {`media_types=["png"]`},
			"ids without types":     {"media_ids=[1,2]", `media_types=["png"]`},
			"65 pictures":           {"media_ids=[" + strings.Repeat("1,", 64) + "1]", "media_types=[" + strings.Repeat(`"png",`, 64) + `"png"]`},
			"no JSON":               {"media_ids=[1", `media_types=["png"]`},
			"ids that are none":     {`media_ids=["x"]`, `media_types=["png"]`},
			"ids that are negative": {`media_ids=["-1"]`, `media_types=["png"]`},
			"ids that are huge":     {`media_ids=[9223372036854775808]`, `media_types=["png"]`},
			"an odd name":           {"username=a\xffb"},
			"no user id":            {"user_id=x"},
			"a negative user id":    {"user_id=-1"},
			"a type of post":        {"post_type=4"},
			"a word as type":        {"post_type=x"},
		} {
			if s.quirks && !strings.Contains("no JSON, ids that are none, no user id, a word as type", name) {
				continue // what the original made of it is not published
			}
			// The first of two parameters of a name counts.
			complete := append(slices.Clone(parameters), "username="+ann.name, "user_id="+ann.String(), "text=x", "post_type=0")
			if got := s.post(t, "/wrk2-api/post/compose", "", complete...); got.status != 400 {
				t.Errorf("%s: %d %.300s", name, got.status, got.body)
			}
		}
		complete := []string{"username=" + ann.name, "user_id=" + ann.String(), "text=x", "post_type=0"}
		for missing := range complete {
			s.post(t, "/wrk2-api/post/compose", "", slices.Delete(slices.Clone(complete), missing, missing+1)...).expect(t, complete[missing], 400, incomplete)
		}
	})
	if posts := append(s.timeline(t, "user", ann, 0, 10), s.timeline(t, "home", bob, 0, 10)...); len(posts) != 0 {
		t.Errorf("timelines have %v", posts)
	}
	s.compose(t, ann, strings.Repeat("x", 64<<10)).expect(t, "the longest text", 200, "")
	if posts := s.timeline(t, "home", bob, 0, 10); len(posts) != 1 || len(posts[0]["text"].(string)) != 64<<10 {
		t.Errorf("the longest text did not come through")
	}
}

func testBodies(t *testing.T, s *subject) {
	ann := s.register(t, 1)[0]
	s.expectNothingStored(t, "sending odd bodies", func() {
		s.compose(t, ann, strings.Repeat("x", 1<<20)).expect(t, "1 MB of text", 413, "body: ")
		s.send(t, "POST", s.base+"/wrk2-api/post/compose", "", "application/json", `{"username":"a"}`).expect(t, "JSON", 400, incomplete)
		s.send(t, "POST", s.base+"/wrk2-api/post/compose", "", "application/x-www-form-urlencoded", "").expect(t, "nothing", 400, incomplete)
		s.send(t, "POST", s.base+"/wrk2-api/post/compose", "", "application/x-www-form-urlencoded", "&&=&%%%").expect(t, "noise", 400, incomplete)
	})
	s.get(t, "/wrk2-api/nothing", "").expect(t, "an unknown path", 404, "")
}

// testPostingWithoutFollowers: a user without followers can post. Quirk: it is answered by an error after the post was stored.
func testPostingWithoutFollowers(t *testing.T, s *subject) {
	ann := s.register(t, 1)[0]
	got := s.compose(t, ann, "hello?")
	if s.quirks {
		got.expect(t, "without followers", 500, "compost_post failure: ")
	} else {
		got.expect(t, "without followers", 200, "Successfully upload post")
	}
	if posts := s.timeline(t, "user", ann, 0, 10); len(posts) != 1 || posts[0]["text"] != "hello?" {
		t.Errorf("the own timeline has %v", posts)
	}
}
