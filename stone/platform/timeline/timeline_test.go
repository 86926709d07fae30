package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/redis"
	"loadstone.dev/stone/platform/servertest"
	"loadstone.dev/stone/platform/timeline"
)

type element struct {
	PostID    int64 `json:"post_id"`
	Timestamp int64 `json:"timestamp"`
}

type document struct {
	Posts []element `json:"posts"`
}

func (d document) Entries() []timeline.Entry {
	entries := make([]timeline.Entry, len(d.Posts))
	for i, one := range d.Posts {
		entries[i] = timeline.Entry{ID: one.PostID, Timestamp: one.Timestamp}
	}
	return entries
}

// counted counts how often a document is read, and lets something happen once after the next time.
type counted struct {
	documents.Collection
	reads atomic.Int64
	then  atomic.Pointer[func()]
}

func (c *counted) Get(ctx context.Context, into any, where ...documents.Condition) error {
	c.reads.Add(1)
	err := c.Collection.Get(ctx, into, where...)
	if then := c.then.Swap(nil); then != nil {
		(*then)()
	}
	return err
}

func start(t *testing.T) (*timeline.Lists[document], *counted) {
	t.Helper()
	store, err := documents.Open(t.Context(), servertest.Postgres(t))
	check(t, err)
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	client, err := redis.Open(8, "", servertest.Redis(t))
	check(t, err)
	t.Cleanup(func() { _ = client.Close() })
	collection := &counted{Collection: store.Collection("lists", "lists")}
	return &timeline.Lists[document]{
		Documents: collection, Redis: client, Owner: "user_id", Array: "posts", ID: "post_id",
		Element: func(entry timeline.Entry) any { return element{entry.ID, entry.Timestamp} },
	}, collection
}

// Whatever is written, read and forgotten in whatever order: a read is what was written, the newest first.
func TestAListIsWhatWasWritten(t *testing.T) {
	lists, _ := start(t)
	owners := []any{int64(1), int64(2), "one", "one:whole"}
	written := make(map[any][]timeline.Entry)
	for range 400 {
		owner := owners[rand.IntN(len(owners))]
		switch dice := rand.IntN(20); {
		case dice < 8:
			id := rand.Int64N(100)
			entry := timeline.Entry{ID: id, Timestamp: 1_500_000_000_000 + id*7%20}
			if !slices.Contains(written[owner], entry) {
				written[owner] = append(written[owner], entry)
				slices.SortFunc(written[owner], timeline.NewestFirst)
			}
			check(t, lists.Write(t.Context(), owner, entry))
		case dice < 19:
			start := rand.IntN(30)
			stop := start + rand.IntN(30)
			got, err := lists.Read(t.Context(), owner, start, stop)
			check(t, err)
			want := written[owner]
			want = want[min(start, len(want)):min(stop, len(want))]
			if !slices.Equal(got, ids(want)) {
				t.Fatalf("%v, %d to %d: got %v, want %v", owner, start, stop, got, want)
			}
		default:
			check(t, lists.Redis.FlushAll(t.Context()).Err())
		}
	}
}

func TestAnEmptyRangeIsEmpty(t *testing.T) {
	lists, _ := start(t)
	check(t, lists.Write(t.Context(), "a", timeline.Entry{ID: 1, Timestamp: 1}))
	for _, stop := range []int{1, 0} { // the first read has Redis hold the list
		if got, err := lists.Read(t.Context(), "a", 0, stop); err != nil || len(got) != stop {
			t.Errorf("0 to %d: %v, %v", stop, got, err)
		}
	}
}

// Many write and read while Redis forgets again and again; then each list has all that was written.
func TestNothingIsLostWhileRedisForgets(t *testing.T) {
	lists, _ := start(t)
	const owners, writers, each = 3, 6, 40
	var working sync.WaitGroup
	for writer := range writers {
		working.Go(func() {
			for i := range each {
				owner, id := int64(i%owners), int64(writer*each+i)
				if err := lists.Write(t.Context(), owner, timeline.Entry{ID: id, Timestamp: id}); err != nil {
					t.Error(err)
				}
				got, err := lists.Read(t.Context(), owner, 0, writers*each)
				if err != nil || !slices.Contains(got, id) {
					t.Errorf("%d is not in list %d after it was written: %v, %v", id, owner, got, err)
				}
			}
		})
	}
	working.Go(func() {
		for range 30 {
			if err := lists.Redis.FlushAll(t.Context()).Err(); err != nil {
				t.Error(err)
			}
		}
	})
	working.Wait()
	for owner := range int64(owners) {
		var want []int64
		for id := int64(writers*each) - 1; id >= 0; id-- {
			if id%each%owners == owner {
				want = append(want, id)
			}
		}
		if got, err := lists.Read(t.Context(), owner, 0, 1000); err != nil || !slices.Equal(got, want) {
			t.Errorf("list %d: got %v, %v; want %v", owner, got, err, want)
		}
	}
}

// Between the look at the store and the copy another entry is written, and Redis forgets it.
func TestACopyThatWasOvertakenIsNotKept(t *testing.T) {
	for name, meanwhile := range map[string]func(*timeline.Lists[document]) error{
		"written": func(*timeline.Lists[document]) error { return nil },
		"emptied": func(lists *timeline.Lists[document]) error { return lists.Redis.FlushAll(t.Context()).Err() },
	} {
		lists, store := start(t)
		check(t, lists.Write(t.Context(), "a", timeline.Entry{ID: 1, Timestamp: 1}))
		overtake := func() {
			check(t, lists.Write(t.Context(), "a", timeline.Entry{ID: 2, Timestamp: 2}))
			check(t, meanwhile(lists))
		}
		store.then.Store(&overtake)
		if got, err := lists.Read(t.Context(), "a", 0, 10); err != nil || !slices.Equal(got, []int64{1}) {
			t.Errorf("%s: before: %v, %v", name, got, err)
		}
		for range 2 {
			if got, err := lists.Read(t.Context(), "a", 0, 10); err != nil || !slices.Equal(got, []int64{2, 1}) {
				t.Errorf("%s: after: %v, %v", name, got, err)
			}
		}
	}
}

// What Redis has whole is not looked up in the store, long, short or empty.
func TestTheStoreIsReadOnce(t *testing.T) {
	lists, store := start(t)
	check(t, lists.Write(t.Context(), "short", timeline.Entry{ID: 1, Timestamp: 1}))
	for _, owner := range []string{"short", "nobody"} {
		store.reads.Store(0)
		for range 5 {
			_, err := lists.Read(t.Context(), owner, 0, 10)
			check(t, err)
		}
		if reads := store.reads.Load(); reads != 1 {
			t.Errorf("%s: the store was read %d times", owner, reads)
		}
	}
}

func TestErrorsOfRedisAreKnown(t *testing.T) {
	lists, _ := start(t)
	check(t, lists.Write(t.Context(), "a", timeline.Entry{ID: 1, Timestamp: 1}))
	gone := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer gone.Close()
	lists.Redis = gone
	if err := lists.Write(t.Context(), "a", timeline.Entry{ID: 2, Timestamp: 2}); !errors.Is(err, timeline.ErrRedis) {
		t.Errorf("write: %v", err)
	}
	if _, err := lists.Read(t.Context(), "a", 0, 1); !errors.Is(err, timeline.ErrRedis) {
		t.Errorf("read: %v", err)
	}
}

// As published: Redis has what readers copied, and what was written after that; the rest comes from the store.
func TestPublished(t *testing.T) {
	lists, _ := start(t)
	read := func(start, stop int) string {
		t.Helper()
		got, refill, err := lists.ReadPublished(t.Context(), "a", start, stop)
		check(t, err)
		check(t, refill())
		return fmt.Sprint(got)
	}
	held := func() int64 { return lists.Redis.ZCard(t.Context(), "a").Val() }
	if got := read(0, 10); got != "[]" || held() != 0 {
		t.Errorf("an unknown user's: %s, %d held", got, held())
	}
	for id := range int64(3) {
		check(t, lists.WriteLooking(t.Context(), "a", timeline.Entry{ID: id, Timestamp: id}, true))
	}
	if held() != 0 {
		t.Errorf("%d are held before the first read", held())
	}
	if got := read(0, 2); got != "[2 1]" || held() != 2 {
		t.Errorf("%s, %d held", got, held())
	}
	check(t, lists.WriteLooking(t.Context(), "a", timeline.Entry{ID: 3, Timestamp: 3}, true))
	if held() != 3 {
		t.Errorf("%d held", held())
	}
	if got := read(1, 10); got != "[2 1 0]" || held() != 4 {
		t.Errorf("%s, %d held", got, held())
	}
	for _, wrong := range [][2]int{{-1, 5}, {5, 5}, {6, 5}} {
		if got := read(wrong[0], wrong[1]); got != "[]" {
			t.Errorf("%v: %s", wrong, got)
		}
	}
}

func ids(entries []timeline.Entry) []int64 {
	list := make([]int64, len(entries))
	for i, entry := range entries {
		list[i] = entry.ID
	}
	return list
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
