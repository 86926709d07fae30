package social

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/accounts"
	"loadstone.dev/stone/platform/httpserver"
	"loadstone.dev/stone/platform/web"
)

const fakeSecret = "a secret of tests"

// network stands in for the services behind the front end: it keeps their data in memory.
type network struct {
	idl.SocialGraphService // what is not overridden below is not called
	idl.UserService

	mutex sync.Mutex
	names []string // by user id
	words []string // by user id
	edges [][2]int64
	posts []*idl.Post // the oldest first
	files map[string]string
	calls []string // the calls, with their arguments
	fail  error    // returned by every call
}

// newFrontend is a front end over a network, and the address of both.
func newFrontend(t *testing.T, quirks bool) (*network, string) {
	n := &network{files: make(map[string]string)}
	behind := httptest.NewServer(http.HandlerFunc(n.serveMedia))
	media, err := web.DialHTTP("media-frontend", strings.TrimPrefix(behind.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	f := &frontend{
		compose: n, homeTimeline: n, userTimeline: n, user: n, graph: n, media: media, quirks: quirks,
		site:     web.NewSite(slog.New(slog.NewTextHandler(io.Discard, nil)), explain),
		pages:    mustParsePages(),
		tokens:   accounts.Tokens{Secret: fakeSecret},
		sessions: web.Sessions{Cookie: "login_token", Secret: fakeSecret},
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := httpserver.New(f.routes(), slog.New(slog.DiscardHandler))
	go func() { _ = front.Serve(listener) }()
	t.Cleanup(func() { front.Stop(time.Second); media.Close(); behind.Close() })
	return n, "http://" + listener.Addr().String()
}

// heard notes a call; it returns the error that all calls shall have.
func (n *network) heard(call string, arguments ...any) (unlock func(), err error) {
	n.mutex.Lock()
	n.calls = append(n.calls, strings.TrimSpace(call+" "+strings.TrimSuffix(fmt.Sprintln(arguments...), "\n")))
	return n.mutex.Unlock, n.fail
}

// change alters the data between requests.
func (n *network) change(data func()) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	data()
}

// called returns the calls so far.
func (n *network) called() []string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return slices.Clone(n.calls)
}

// stored returns the files, by name.
func (n *network) stored() map[string]string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return maps.Clone(n.files)
}

// followed returns the edges, each from a follower to a followee.
func (n *network) followed() [][2]int64 {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return slices.Clone(n.edges)
}

func (n *network) ComposePost(_ context.Context, _ int64, username string, user int64, text string, ids []int64, types []string, kind idl.PostType, _ map[string]string) error {
	unlock, err := n.heard("ComposePost", username, user, fmt.Sprintf("%.20q", text), ids, types, int(kind))
	defer unlock()
	if err != nil {
		return err
	}
	post := &idl.Post{
		PostID: int64(len(n.posts) + 1), Creator: &idl.Creator{UserID: user, Username: username}, ReqID: 7, Text: text,
		Timestamp: 1_700_000_000_000 + int64(len(n.posts)), PostType: kind,
	}
	for i := range ids {
		post.Media = append(post.Media, &idl.Media{MediaID: ids[i], MediaType: types[i]})
	}
	for _, name := range findMentions(text) {
		if id := slices.Index(n.names, name); id >= 0 {
			post.UserMentions = append(post.UserMentions, &idl.UserMention{UserID: int64(id), Username: name})
		}
	}
	n.posts = append(n.posts, post)
	return nil
}

func (n *network) ReadHomeTimeline(_ context.Context, _, user int64, start, stop int32, _ map[string]string) ([]*idl.Post, error) {
	unlock, err := n.heard("ReadHomeTimeline", user, start, stop)
	defer unlock()
	return n.timeline(start, stop, func(creator int64) bool { return slices.Contains(n.edges, [2]int64{user, creator}) }), err
}

func (n *network) ReadUserTimeline(_ context.Context, _, user int64, start, stop int32, _ map[string]string) ([]*idl.Post, error) {
	unlock, err := n.heard("ReadUserTimeline", user, start, stop)
	defer unlock()
	return n.timeline(start, stop, func(creator int64) bool { return creator == user }), err
}

func (n *network) timeline(start, stop int32, has func(creator int64) bool) []*idl.Post {
	var posts []*idl.Post
	for _, post := range slices.Backward(n.posts) {
		if has(post.Creator.UserID) {
			posts = append(posts, post)
		}
	}
	return posts[min(int(start), len(posts)):min(int(stop), len(posts))]
}

func (n *network) WriteHomeTimeline(context.Context, int64, int64, int64, int64, []int64, map[string]string) error {
	return errors.New("not for the front end")
}

func (n *network) WriteUserTimeline(context.Context, int64, int64, int64, int64, map[string]string) error {
	return errors.New("not for the front end")
}

func (n *network) RegisterUser(_ context.Context, _ int64, first, last, username, password string, _ map[string]string) error {
	unlock, err := n.heard("RegisterUser", first, last, username, password)
	defer unlock()
	if err != nil {
		return err
	}
	if slices.Contains(n.names, username) {
		return exception.Conflict("User %s already existed", username)
	}
	n.names, n.words = append(n.names, username), append(n.words, password)
	return nil
}

func (n *network) RegisterUserWithId(_ context.Context, _ int64, first, last, username, password string, id int64, _ map[string]string) error {
	unlock, err := n.heard("RegisterUserWithId", first, last, username, password, id)
	defer unlock()
	return err
}

func (n *network) Login(_ context.Context, _ int64, username, password string, _ map[string]string) (string, error) {
	unlock, err := n.heard("Login", username, password)
	defer unlock()
	if err != nil {
		return "", err
	}
	id := slices.Index(n.names, username)
	if id < 0 || n.words[id] != password {
		return "", exception.Unauthorized("Incorrect username or password")
	}
	return accounts.Tokens{Secret: fakeSecret}.Sign(accounts.Session{UserID: int64(id), Username: username}), nil
}

func (n *network) GetUserId(_ context.Context, _ int64, username string, _ map[string]string) (int64, error) {
	unlock, err := n.heard("GetUserId", username)
	defer unlock()
	if id := slices.Index(n.names, username); err == nil && id >= 0 {
		return int64(id), nil
	}
	return 0, errors.Join(err, exception.NotFound("User: %s is not registered", username))
}

func (n *network) GetUsers(_ context.Context, _ int64, ids []int64, _ map[string]string) ([]*idl.Creator, error) {
	unlock, err := n.heard("GetUsers", ids)
	defer unlock()
	var users []*idl.Creator
	for _, id := range ids {
		if id < int64(len(n.names)) {
			users = append(users, &idl.Creator{UserID: id, Username: n.names[id]})
		}
	}
	return users, err
}

func (n *network) Follow(_ context.Context, _, who, followee int64, _ map[string]string) error {
	unlock, err := n.heard("Follow", who, followee)
	defer unlock()
	n.edges = append(n.edges, [2]int64{who, followee})
	return err
}

func (n *network) Unfollow(_ context.Context, _, who, followee int64, _ map[string]string) error {
	unlock, err := n.heard("Unfollow", who, followee)
	defer unlock()
	n.edges = slices.DeleteFunc(n.edges, func(edge [2]int64) bool { return edge == [2]int64{who, followee} })
	return err
}

func (n *network) FollowWithUsername(_ context.Context, _ int64, who, followee string, _ map[string]string) error {
	unlock, err := n.heard("FollowWithUsername", who, followee)
	defer unlock()
	return err
}

func (n *network) UnfollowWithUsername(_ context.Context, _ int64, who, followee string, _ map[string]string) error {
	unlock, err := n.heard("UnfollowWithUsername", who, followee)
	defer unlock()
	return err
}

func (n *network) GetFollowers(_ context.Context, _, user int64, _ map[string]string) ([]int64, error) {
	unlock, err := n.heard("GetFollowers", user)
	defer unlock()
	return n.ends(1, 0, user), err
}

func (n *network) GetFollowees(_ context.Context, _, user int64, _ map[string]string) ([]int64, error) {
	unlock, err := n.heard("GetFollowees", user)
	defer unlock()
	return n.ends(0, 1, user), err
}

func (n *network) ends(from, to int, user int64) []int64 {
	var ids []int64
	for _, edge := range n.edges {
		if edge[from] == user {
			ids = append(ids, edge[to])
		}
	}
	return ids
}

// serveMedia stands in for the media front end.
func (n *network) serveMedia(w http.ResponseWriter, r *http.Request) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if r.URL.Path == "/get-media" {
		_, _ = io.WriteString(w, n.files[r.URL.Query().Get("filename")])
		return
	}
	file, header, err := r.FormFile("media")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	content, _ := io.ReadAll(file)
	_, kind, _ := strings.Cut(header.Filename, ".")
	id := fmt.Sprint(len(n.files) + 1)
	n.files[id+"."+kind] = string(content)
	fmt.Fprintf(w, `{"media_id":%q,"media_type":%q}`, id, kind)
}
