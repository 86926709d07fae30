package seed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"loadstone.dev/stone/platform/seeding"
)

const (
	askUsers  = 20
	askPosts  = 10
	askWithin = 30 * time.Second
	mostRead  = 1 << 20
)

// sizes says how many entries a user's own and home timeline have.
type sizes func(ctx context.Context, in *seeding.Opened, user int) (own, home int, err error)

// seeded are the sizes before any load.
func (s *Seed) seeded(_ context.Context, _ *seeding.Opened, user int) (own, home int, err error) {
	if s.total == 0 {
		return 0, 0, nil
	}
	g, err := s.graph()
	if err != nil {
		return 0, 0, err
	}
	return int(s.posts[user]), len(s.home(g, user, s.homeLimit(g))), nil
}

// sizes are those that were read.
func (h *held) sizes(ctx context.Context, in *seeding.Opened, user int) (own, home int, err error) {
	size, err := in.Redis[homeRedis].ZCard(ctx, homeKey(user)).Result()
	return h.own[int64(user)], int(size), err
}

// ask reads the two timelines of some users through the API and logs them in. It returns how many answers there should
// be, how many are right, and what is wrong with others.
func (s *Seed) ask(ctx context.Context, in *seeding.Opened, of sizes) (requested, good int, wrong []string) {
	client := &http.Client{Timeout: askWithin, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	for i, user := range spread(between(0, s.users), askUsers) {
		entry := entry{client, "http://" + in.Plan.Entry[i%len(in.Plan.Entry)]}
		own, home, err := of(ctx, in, user)
		if err == nil {
			err = entry.timeline(ctx, "user-timeline", user, own, true)
		}
		note := func(what string, err error) {
			if requested++; err == nil {
				good++
				return
			}
			wrong = append(wrong, fmt.Sprintf("%s of user %d: %v", what, user, err))
		}
		note("user timeline", err)
		note("home timeline", entry.timeline(ctx, "home-timeline", user, home, false))
		note("login", entry.login(ctx, user))
	}
	return requested, good, wrong
}

// entry is a front end.
type entry struct {
	client  *http.Client
	address string
}

// answered is what is looked at of a post. Ids and times are texts in the published answers.
type answered struct {
	PostID    json.RawMessage `json:"post_id"`
	Timestamp json.RawMessage `json:"timestamp"`
	Creator   struct {
		UserID json.RawMessage `json:"user_id"`
	} `json:"creator"`
}

// timeline reads the newest posts: as many as there are, in order, and of the user's own timeline all the user's.
func (e entry) timeline(ctx context.Context, kind string, user, size int, own bool) error {
	address := fmt.Sprintf("%s/wrk2-api/%s/read?user_id=%d&start=0&stop=%d", e.address, kind, user, askPosts)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	body, status, err := e.do(request)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("status %d: %.100s", status, body)
	}
	var posts []answered
	// Quirk: an empty list is an empty object.
	if text := strings.TrimSpace(body); text != "{}" {
		if err := json.Unmarshal([]byte(text), &posts); err != nil {
			return fmt.Errorf("the answer is no list of posts: %w", err)
		}
	}
	if want := min(size, askPosts); len(posts) != want {
		return fmt.Errorf("%d posts, want %d", len(posts), want)
	}
	previous := int64(1<<63 - 1)
	for _, post := range posts {
		time, author := whole(post.Timestamp), whole(post.Creator.UserID)
		if time < 0 || time > previous {
			return fmt.Errorf("post %s of %s stands below an older one", post.PostID, post.Timestamp)
		}
		if own && author != int64(user) {
			return fmt.Errorf("post %s is of user %d", post.PostID, author)
		}
		previous = time
	}
	return nil
}

// whole is a number, written as such or as a text; -1 for anything else.
func whole(text json.RawMessage) int64 {
	var number int64
	if err := json.Unmarshal([]byte(strings.Trim(string(text), `"`)), &number); err != nil {
		return -1
	}
	return number
}

func (e entry) login(ctx context.Context, user int) error {
	form := url.Values{"username": {username(user)}, "password": {password(user)}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address+"/api/user/login", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	body, status, err := e.do(request)
	if err == nil && status >= http.StatusBadRequest {
		err = fmt.Errorf("status %d: %.100s", status, body)
	}
	return err
}

func (e entry) do(request *http.Request) (body string, status int, err error) {
	answer, err := e.client.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostRead))
	return string(text), answer.StatusCode, err
}
