package social

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"loadstone.dev/stone/apps/social/data"
	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/redis"
	"loadstone.dev/stone/platform/servertest"
)

// openCollection opens an empty collection in a PostgreSQL of its own, with its indexes.
func openCollection(t *testing.T, of documents.Location) *watched {
	t.Helper()
	store, err := documents.Open(t.Context(), servertest.Postgres(t))
	check(t, err)
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	for _, index := range data.Indexes(of, false) {
		check(t, of.In(store).EnsureIndex(t.Context(), index.Field, index.Unique))
	}
	return &watched{Collection: of.In(store)}
}

func openRedis(t *testing.T) *goredis.Client {
	t.Helper()
	client, err := redis.Open(64, "", servertest.Redis(t))
	check(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// restart does to the clients of a Redis what its restart does: connections break and nothing is remembered.
func restart(t *testing.T, client *goredis.Client) {
	t.Helper()
	other, err := redis.Open(64, "", client.Options().Addr)
	check(t, err)
	defer other.Close()
	check(t, other.FlushAll(t.Context()).Err())
	check(t, other.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
}

// watched is a collection that counts who reads single documents, and lets a test act between the reading of one and
// what is made of it.
type watched struct {
	documents.Collection
	reads atomic.Int64
	then  atomic.Pointer[func()]
	shake atomic.Bool // changes arrive late, and so in another order than they were sent
}

func (w *watched) Push(ctx context.Context, at documents.Condition, array string, element any, once string) error {
	w.delay()
	return w.Collection.Push(ctx, at, array, element, once)
}

func (w *watched) Pull(ctx context.Context, at documents.Condition, array, field string, value any) error {
	w.delay()
	return w.Collection.Pull(ctx, at, array, field, value)
}

func (w *watched) delay() {
	if w.shake.Load() {
		time.Sleep(rand.N(2 * time.Millisecond))
	}
}

func (w *watched) Get(ctx context.Context, into any, where ...documents.Condition) error {
	defer w.read()
	return w.Collection.Get(ctx, into, where...)
}

func (w *watched) Head(ctx context.Context, into any, array string, n int, at documents.Condition) error {
	defer w.read()
	return w.Collection.Head(ctx, into, array, n, at)
}

func (w *watched) read() {
	w.reads.Add(1)
	if then := w.then.Swap(nil); then != nil {
		(*then)()
	}
}

// once has the next read be followed by an act.
func (w *watched) once(act func()) { w.then.Store(&act) }

// expectReads fails unless an act reads so many documents from the store.
func (w *watched) expectReads(t *testing.T, want int64, what string, act func()) {
	t.Helper()
	before := w.reads.Load()
	act()
	if got := w.reads.Load() - before; got != want {
		t.Errorf("%s: the store was read %d times, want %d", what, got, want)
	}
}

// everyPost is a post storage that has every post, and records the requested ids.
type everyPost struct {
	idl.PostStorageService // the rest is not called
	fail                   error
}

func (e *everyPost) ReadPosts(_ context.Context, _ int64, ids []int64, _ map[string]string) ([]*idl.Post, error) {
	posts := make([]*idl.Post, len(ids))
	for i, id := range ids {
		posts[i] = &idl.Post{PostID: id}
	}
	return posts, e.fail
}

// postIDs is the ids of posts, in their order.
func postIDs(posts []*idl.Post) []int64 {
	ids := make([]int64, len(posts))
	for i, post := range posts {
		ids[i] = post.PostID
	}
	return ids
}

// code is the code of what a service declares, or -1.
func code(err error) idl.ErrorCode {
	if declared, is := err.(*idl.ServiceException); is {
		return declared.ErrorCode
	}
	return -1
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
