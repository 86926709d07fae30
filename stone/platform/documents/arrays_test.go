package documents_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"loadstone.dev/stone/platform/documents"
)

// timeline is a document with an array that grows at the front.
type timeline struct {
	User  int64   `json:"user"`
	Posts []entry `json:"posts"`
	Note  string  `json:"note"`
}

type entry struct {
	Post int64   `json:"post"`
	Time float64 `json:"time"`
}

func pushPutsInFront(t *testing.T, c documents.Collection) {
	for _, user := range []int64{7, 1<<62 + 1} {
		for post := range int64(3) {
			check(t, c.Push(t.Context(), documents.Equal("user", user), "posts", entry{1<<62 + post, 0.1}, ""))
		}
		wantPosts(t, c, user, 1<<62+2, 1<<62+1, 1<<62)
	}
	wantPosts(t, c, 7, 1<<62+2, 1<<62+1, 1<<62)
	wantCount(t, c, 2)
	if err := c.Insert(t.Context(), timeline{User: 7}); !errors.Is(err, documents.ErrDuplicate) {
		t.Errorf("Insert beside a pushed one: %v, want ErrDuplicate", err)
	}
}

func pushKeepsTheRestOfTheDocument(t *testing.T, c documents.Collection) {
	check(t, c.Insert(t.Context(), timeline{7, []entry{{1, 1.5}}, "kept"}, timeline{8, nil, "null"}))
	for user := range int64(2) {
		check(t, c.Push(t.Context(), documents.Equal("user", 7+user), "posts", entry{2, 2.5}, "post"))
	}
	wantTimeline(t, c, timeline{7, []entry{{2, 2.5}, {1, 1.5}}, "kept"})
	wantTimeline(t, c, timeline{8, []entry{{2, 2.5}}, "null"})
}

func pushOnceIsOnce(t *testing.T, c documents.Collection) {
	at := documents.Equal("user", 7)
	for range 2 {
		check(t, c.Push(t.Context(), at, "posts", entry{1<<62 + 1, 1}, "post"))
		check(t, c.Push(t.Context(), at, "posts", entry{1 << 62, 2}, "post"))
		check(t, c.Push(t.Context(), at, "posts", entry{1<<62 + 1, 3}, "post"))
	}
	wantTimeline(t, c, timeline{User: 7, Posts: []entry{{1 << 62, 2}, {1<<62 + 1, 1}}})
	check(t, c.Push(t.Context(), at, "posts", entry{1 << 62, 2}, ""))
	wantPosts(t, c, 7, 1<<62, 1<<62, 1<<62+1)
}

func concurrentPushesLoseNothing(t *testing.T, c documents.Collection) {
	const writers = 50
	for _, once := range []string{"", "post"} {
		at := documents.Equal("user", len(once))
		together(t, writers, func(i int) error {
			return c.Push(t.Context(), at, "posts", entry{Post: int64(i)}, once)
		})
		want := make([]int64, writers)
		for i := range want {
			want[i] = int64(i)
		}
		got := posts(t, c, int64(len(once)))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("once %q: has %v, want each of %d once", once, got, writers)
		}
	}
	wantCount(t, c, 2)
}

func concurrentPushesOfTheSameAreOne(t *testing.T, c documents.Collection) {
	together(t, 50, func(int) error {
		return c.Push(t.Context(), documents.Equal("user", 7), "posts", entry{Post: 5}, "post")
	})
	wantPosts(t, c, 7, 5)
}

func pullRemovesEveryMatch(t *testing.T, c documents.Collection) {
	at := documents.Equal("user", 7)
	check(t, c.Pull(t.Context(), at, "posts", "post", 1)) // no collection
	full := []entry{{1<<62 + 1, 1}, {3, 3}, {1 << 62, 2}, {1<<62 + 1, 4}, {9, 9}}
	check(t, c.Insert(t.Context(), timeline{7, full, "kept"}, timeline{8, full, ""}, timeline{9, nil, ""}))
	check(t, c.Pull(t.Context(), at, "posts", "post", int64(1<<62+1)))
	check(t, c.Pull(t.Context(), at, "posts", "post", 4))
	check(t, c.Pull(t.Context(), at, "posts", "absent", 3))
	check(t, c.Pull(t.Context(), at, "note", "post", 3))
	wantTimeline(t, c, timeline{7, []entry{{3, 3}, {1 << 62, 2}, {9, 9}}, "kept"})
	wantTimeline(t, c, timeline{8, full, ""})
	for _, post := range []int64{3, 1 << 62, 9} {
		check(t, c.Pull(t.Context(), at, "posts", "post", post))
	}
	wantTimeline(t, c, timeline{7, []entry{}, "kept"})
	check(t, c.Pull(t.Context(), documents.Equal("user", 9), "posts", "post", 1))
	check(t, c.Pull(t.Context(), documents.Equal("user", 10), "posts", "post", 1))
	wantCount(t, c, 3)
}

func pullBesidePushLosesNothing(t *testing.T, c documents.Collection) {
	const each = 25
	at, old := documents.Equal("user", 7), timeline{User: 7}
	for i := range int64(each) {
		old.Posts = append(old.Posts, entry{Post: -i - 1})
	}
	check(t, c.Insert(t.Context(), old))
	together(t, 2*each, func(i int) error {
		if i < each {
			return c.Push(t.Context(), at, "posts", entry{Post: int64(i)}, "post")
		}
		return c.Pull(t.Context(), at, "posts", "post", each-i-1)
	})
	got := posts(t, c, 7)
	slices.Sort(got)
	if len(got) != each || got[0] != 0 || got[each-1] != each-1 {
		t.Errorf("has %v, want 0 to %d", got, each-1)
	}
}

func headCutsTheArray(t *testing.T, c documents.Collection) {
	at := documents.Equal("user", 7)
	if err := c.Head(t.Context(), &timeline{}, "posts", 1, at); !errors.Is(err, documents.ErrNotFound) {
		t.Errorf("Head of nothing: %v, want ErrNotFound", err)
	}
	full := timeline{7, []entry{{1<<62 + 1, 0.1}, {2, 2}, {3, 3}}, "kept"}
	check(t, c.Insert(t.Context(), full, timeline{User: 8}))
	for _, n := range []int{0, 1, 2, 3, 4, math.MaxInt} {
		var got timeline
		check(t, c.Head(t.Context(), &got, "posts", n, at))
		want := timeline{7, full.Posts[:min(n, 3)], "kept"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Head %d = %+v, want %+v", n, got, want)
		}
	}
	for _, array := range []string{"posts", "note", "absent"} {
		var got timeline
		check(t, c.Head(t.Context(), &got, array, 2, documents.Equal("user", 8)))
		if !reflect.DeepEqual(got, timeline{User: 8}) {
			t.Errorf("Head of %s, which is no array = %+v", array, got)
		}
	}
}

func arraysRefuseWrongArguments(t *testing.T, c documents.Collection) {
	at := documents.Equal("user", 7)
	for want, err := range map[string]error{
		`has 2 values, want one`:                    c.Push(t.Context(), documents.In("user", []int{1, 2}), "posts", entry{}, ""),
		`has 0 values, want one`:                    c.Pull(t.Context(), documents.Condition{Field: "user"}, "posts", "post", 1),
		`has 3 values, want one`:                    c.Head(t.Context(), &timeline{}, "posts", 1, documents.In("user", []int{1, 2, 3})),
		`"a.b" is not a field name`:                 c.Push(t.Context(), documents.Equal("a.b", 7), "posts", entry{}, ""),
		`"po'sts" is not a field name`:              c.Push(t.Context(), at, "po'sts", entry{}, ""),
		`"$post" is not a field name`:               c.Push(t.Context(), at, "posts", entry{}, "$post"),
		`the element has no field "absent"`:         c.Push(t.Context(), at, "posts", entry{}, "absent"),
		`"posts.post" is not a field name`:          c.Pull(t.Context(), at, "posts.post", "post", 1),
		`"" is not a field name`:                    c.Pull(t.Context(), at, "posts", "", 1),
		`"p}" is not a field name`:                  c.Head(t.Context(), &timeline{}, "p}", 1, at),
		`the first -1 elements of "posts": want 0 `: c.Head(t.Context(), &timeline{}, "posts", -1, at),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	wantCount(t, c, 0)
}

// headStaysSmall counts what the store sends of a document with a long array.
func headStaysSmall(t *testing.T, address string) {
	parsed, err := url.Parse(address)
	check(t, err)
	var sent atomic.Int64
	parsed.Host = counting(t, parsed.Host, &sent)
	c := open(t, parsed.String()).Collection("head", "long")
	long := timeline{User: 7, Posts: make([]entry, 10_000)}
	for i := range long.Posts {
		long.Posts[i] = entry{1<<62 + int64(i), 0.5}
	}
	check(t, c.Insert(t.Context(), long))
	sent.Store(0)
	var got timeline
	check(t, c.Head(t.Context(), &got, "posts", 10, documents.Equal("user", 7)))
	if !slices.Equal(got.Posts, long.Posts[:10]) {
		t.Errorf("got %v", got.Posts)
	}
	// The drivers' own conversation (heartbeats, types, statements) is within this; the document is above 300 kB.
	if sent.Load() > 30_000 {
		t.Errorf("the store sent %d bytes for 10 elements", sent.Load())
	}
	check(t, c.Get(t.Context(), &got, documents.Equal("user", 7)))
	if sent.Load() < 300_000 {
		t.Errorf("the whole document took %d bytes: the count is wrong", sent.Load())
	}
}

// counting passes connections on to the server and counts what the server sends.
func counting(t *testing.T, server string, sent *atomic.Int64) (address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(upstream, client)
				_ = upstream.Close()
			}()
			go func() {
				_, _ = io.Copy(io.MultiWriter(client, counter{sent}), upstream)
				_ = client.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

type counter struct{ sum *atomic.Int64 }

func (c counter) Write(b []byte) (int, error) {
	c.sum.Add(int64(len(b)))
	return len(b), nil
}

// together runs all calls at a time. Each may be repeated.
func together(t *testing.T, calls int, call func(i int) error) {
	t.Helper()
	var group sync.WaitGroup
	for i := range calls {
		group.Go(func() {
			err := call(i)
			for tries := 1; tries < 20 && err != nil && strings.Contains(err.Error(), stumbled); tries++ {
				err = call(i)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// stumbled is what the stand-in for MongoDB answers, and mongod never does, where it meets a document that another
// connection is changing; the call has changed nothing.
const stumbled = "Unknown error: null"

func posts(t *testing.T, c documents.Collection, user int64) []int64 {
	t.Helper()
	var held timeline
	check(t, c.Get(t.Context(), &held, documents.Equal("user", user)))
	ids := make([]int64, len(held.Posts))
	for i, post := range held.Posts {
		ids[i] = post.Post
	}
	return ids
}

func wantPosts(t *testing.T, c documents.Collection, user int64, want ...int64) {
	t.Helper()
	if got := posts(t, c, user); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("user %d has %v, want %v", user, got, want)
	}
}

func wantTimeline(t *testing.T, c documents.Collection, want timeline) {
	t.Helper()
	var got timeline
	check(t, c.Get(t.Context(), &got, documents.Equal("user", want.User)))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
