package seed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/seeding"
)

func made(t *testing.T, dataset string) *Seed {
	t.Helper()
	s, err := New(seeding.Plan{Dataset: json.RawMessage(dataset)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPostsAreAsPublished(t *testing.T) {
	s := made(t, `{"users": 300, "edges": 3000, "posts_per_user": 20}`)
	text := regexp.MustCompile(`^[a-zA-Z0-9]{256}( @username_\d+)*( http://short-url/[a-zA-Z0-9]{10})*$`)
	address := regexp.MustCompile(`^http://[a-z]{64}$`)
	counts := map[string]map[int]int{"posts": {}, "mentions": {}, "addresses": {}, "media": {}}
	ids, short := map[int64]bool{}, map[string]bool{}
	for user := range s.users {
		posts := s.postsBy(user)
		counts["posts"][len(posts)]++
		for _, post := range posts {
			counts["mentions"][len(post.UserMentions)]++
			counts["addresses"][len(post.URLs)]++
			counts["media"][len(post.Media)]++
			if post.Creator != creator(user) || !text.MatchString(post.Text) || ids[post.PostID] || post.ReqID < 0 || post.ReqID >= 1<<53 {
				t.Fatalf("%+v", post)
			}
			ids[post.PostID] = true
			mentioned := map[int64]bool{int64(user): true}
			for _, mention := range post.UserMentions {
				if mentioned[mention.UserID] || mention != creator(int(mention.UserID)) || !strings.Contains(post.Text+" ", " @"+mention.Username+" ") {
					t.Fatalf("mention %+v in %+v", mention, post)
				}
				mentioned[mention.UserID] = true
			}
			for _, url := range post.URLs {
				if short[url.ShortenedURL] || !address.MatchString(url.ExpandedURL) || !strings.Contains(post.Text, url.ShortenedURL) {
					t.Fatalf("address %+v in %+v", url, post)
				}
				short[url.ShortenedURL] = true
			}
			for _, medium := range post.Media {
				if len(fmt.Sprint(medium.MediaID)) != 18 || medium.MediaType != "png" {
					t.Fatalf("%+v", medium)
				}
			}
		}
	}
	if len(counts["posts"]) != 21 || len(counts["mentions"]) != 6 || len(counts["addresses"]) != 6 || len(counts["media"]) != 6 {
		t.Errorf("numbers that occur: %v", counts)
	}
	if s.urls() != len(short) || s.total != len(ids) || s.total < 2500 || s.total > 3500 {
		t.Errorf("%d addresses of %d, %d posts of %d", s.urls(), len(short), s.total, len(ids))
	}
}

// The numbers that would meet first if the factor had a divisor in common with 62^10.
func TestShortAddressesDoNotMeet(t *testing.T) {
	for _, divisor := range []int{2, 31} {
		if far := shortURL(shortURLsThere / divisor); far == shortURL(0) {
			t.Errorf("%s for two numbers", far)
		}
	}
}

// Everything that is kept of a post says the same of it, and ids rise with time as those of services do.
func TestTimelinesAndPostsAgree(t *testing.T) {
	s := made(t, `{"users": 50, "edges": 200, "posts_per_user": 6}`)
	g, _ := s.graph()
	home := map[int][]int{}
	for user := range s.users {
		var want, urls = []data.Entry{}, []data.URL{}
		for k, post := range s.postsBy(user) {
			want = append(want, data.Entry{PostID: post.PostID, Timestamp: post.Timestamp})
			urls = append(urls, post.URLs...)
			readers := map[int]bool{}
			for _, follower := range g.Neighbours(user) {
				readers[int(follower)] = true
			}
			for _, mention := range post.UserMentions {
				readers[int(mention.UserID)] = true
			}
			for reader := range readers {
				home[reader] = append(home[reader], s.number(user, k))
			}
		}
		slices.Reverse(want)
		var got []data.Entry
		for _, timeline := range s.timeline(user) {
			got = timeline.Posts
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(s.urlsBy(user)) != fmt.Sprint(urls) ||
			!slices.IsSortedFunc(got, func(a, b data.Entry) int { return int(b.PostID - a.PostID) }) {
			t.Errorf("user %d: timeline %v, want %v", user, got, want)
		}
	}
	for limit, want := range map[int]int{0: 1 << 30, 7: 7} {
		size := 0
		for user := range s.users {
			numbers := home[user]
			slices.SortFunc(numbers, func(a, b int) int { return b - a })
			numbers = numbers[:min(len(numbers), want)]
			if got := s.home(g, user, limit); !slices.Equal(got, numbers) {
				t.Errorf("home timeline of %d, at most %d: %v, want %v", user, limit, got, numbers)
			}
			size += len(numbers)
		}
		if got := s.homeSize(g, limit); got != size {
			t.Errorf("%d entries with at most %d each, want %d", got, limit, size)
		}
	}
}

func TestHomeTimelinesAreBounded(t *testing.T) {
	for dataset, want := range map[string]int{
		`{"users": 962, "edges": 18812, "posts_per_user": 20}`:   0,
		`{"users": 962, "edges": 18812}`:                         0,
		`{"users": 4000, "edges": 90000, "posts_per_user": 100}`: 1000,
		`{"users": 4000, "edges": 90000, "posts_per_user": 0}`:   0,
	} {
		s := made(t, dataset)
		g, err := s.graph()
		if err != nil {
			t.Fatal(err)
		}
		limit := s.homeLimit(g)
		if limit != want || limit*s.users > mostEntries {
			t.Errorf("%s: at most %d posts in a home timeline, want %d", dataset, limit, want)
		}
	}
}

func TestUsersLogInWithTheirPasswords(t *testing.T) {
	for _, profile := range []string{"", quirksProfile} {
		s, err := New(seeding.Plan{Profile: profile, Dataset: json.RawMessage(`{"users": 9, "edges": 20}`)})
		if err != nil {
			t.Fatal(err)
		}
		user := s.user(5)[0]
		if err := s.hash(&user); err != nil {
			t.Fatal(err)
		}
		want := data.User{UserID: 5, FirstName: "first_name_5", LastName: "last_name_5", Username: "username_5",
			Password: user.Password, Salt: user.Salt}
		if user != want || !accounts.Check(user.Password, user.Salt, "password_5") || !s.sameUser(user, s.user(5)[0]) {
			t.Errorf("%q: %+v", profile, user)
		}
		if quirks := profile != ""; quirks != (len(user.Salt) == 32 && user.Password == accounts.LegacyHash("password_5", user.Salt)) {
			t.Errorf("%q: %+v", profile, user)
		}
		for _, change := range []func(*data.User){
			func(u *data.User) { u.Username += "x" }, func(u *data.User) { u.Password = "x" }, func(u *data.User) { u.Salt += "x" },
		} {
			changed := user
			if change(&changed); s.sameUser(changed, s.user(5)[0]) {
				t.Errorf("%q: %+v passes for user 5", profile, changed)
			}
		}
	}
}

func TestTheSameDatasetIsTheSameSeed(t *testing.T) {
	const dataset = `{"users": 80, "edges": 400, "posts_per_user": 5}`
	one, other := made(t, dataset), made(t, dataset)
	// Of documents that are made alone, in any order.
	for user := 79; user >= 0; user-- {
		if !reflect.DeepEqual(one.postsBy(user), other.postsBy(user)) {
			t.Errorf("user %d has other posts", user)
		}
	}
	marks := map[string]bool{one.mark(): true}
	for _, dataset := range []string{`{"users": 81, "edges": 400, "posts_per_user": 5}`, `{"users": 80, "edges": 401, "posts_per_user": 5}`,
		`{"users": 80, "edges": 400, "posts_per_user": 4}`} {
		marks[made(t, dataset).mark()] = true
	}
	if one.mark() != other.mark() || len(marks) != 4 {
		t.Errorf("marks %v", marks)
	}
}
