package seed

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/apps/social/data"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
)

const (
	// concurrency is how many pieces of a collection are filled at the same time. A piece is the documents of at most
	// largestPiece users: what is loaded in one step, and what a run that was killed does again.
	concurrency  = 4
	largestPiece = 5000
	lookups      = 500 // documents of one request
	// Of more users than exactly, a sample is compared: so many batches of users, evenly spread.
	exactly     = 10_000
	samples     = 20
	sampleBatch = 250
)

// part is what one store holds of the seed.
type part interface {
	where() documents.Location
	fill(ctx context.Context, into *seeding.Opened) error
	// count returns how many documents there should be and are.
	count(ctx context.Context, in *seeding.Opened) (seeding.Row, error)
	// differing counts the documents of some users that are missing or changed.
	differing(ctx context.Context, in *seeding.Opened, users []int) (int, error)
}

// collection is a part that is documents of type T, each some user's, found by a unique field.
type collection[T any] struct {
	documents.Location
	seed  *Seed
	what  string
	field string
	want  func() int
	of    func(user int) ([]T, error)
	id    func(T) any
	store func(*T) error          // completes a document before it is stored; may be nil
	same  func(held, want T) bool // nil: equal
}

func (s *Seed) allParts() []part {
	plain := func(count int) func() int { return func() int { return count } }
	posters := 0
	for _, posts := range s.posts {
		posters += min(int(posts), 1)
	}
	return []part{
		collection[data.User]{data.Users, s, "users", "user_id", plain(s.users), never(s.user),
			func(u data.User) any { return u.UserID }, s.hash, s.sameUser},
		collection[data.Node]{data.Graph, s, "follows", "user_id", plain(s.users), s.node,
			func(n data.Node) any { return n.UserID }, nil, nil},
		collection[data.Timeline]{data.UserTimelines, s, "user timelines", "user_id", plain(posters), never(s.timeline),
			func(l data.Timeline) any { return l.UserID }, nil, nil},
		collection[data.Post]{data.Posts, s, "posts", "post_id", plain(s.total), never(s.postsBy),
			func(p data.Post) any { return p.PostID }, nil, nil},
		collection[data.URL]{data.URLs, s, "addresses", "shortened_url", sync.OnceValue(s.urls), never(s.urlsBy),
			func(u data.URL) any { return u.ShortenedURL }, nil, nil},
		collection[data.File]{data.Media, s, "files", "filename", plain(0), never(func(int) []data.File { return nil }),
			func(f data.File) any { return f.Filename }, nil, nil},
	}
}

// never makes a function that cannot fail one that might.
func never[T any](of func(user int) []T) func(user int) ([]T, error) {
	return func(user int) ([]T, error) { return of(user), nil }
}

// urls is how many addresses there are in all posts.
func (s *Seed) urls() (count int) {
	for user := range s.users {
		count += len(s.urlsBy(user))
	}
	return count
}

func (c collection[T]) where() documents.Location { return c.Location }

func (c collection[T]) fill(ctx context.Context, into *seeding.Opened) error {
	collection := into.Collection(c.Location)
	for _, index := range data.Indexes(c.Location, c.seed.quirks) {
		if err := collection.EnsureIndex(ctx, index.Field, index.Unique); err != nil {
			return err
		}
	}
	held, err := collection.Count(ctx)
	if err != nil || c.want() == 0 {
		return err
	}
	return c.seed.pieces(ctx, into.Progress, c.what, func(ctx context.Context, users []int) error {
		if held > 0 {
			if there, err := c.holds(ctx, collection, users); there || err != nil {
				return err
			}
		}
		var failed error
		return firstOf(collection.Load(ctx, c.items(users, &failed)), &failed)
	})
}

// firstOf is the error that ended the documents, or else the store's.
func firstOf(stored error, made *error) error {
	if *made != nil {
		return *made
	}
	return stored
}

// pieces does something to all users, in pieces, several at a time.
func (s *Seed) pieces(ctx context.Context, progress *seeding.Progress, what string, do func(ctx context.Context, users []int) error) error {
	progress.Begin(what, s.users)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	size := min(largestPiece, s.users/(2*concurrency)+1)
	for begin := 0; begin < s.users; begin += size {
		users := between(begin, min(begin+size, s.users))
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			err := do(ctx, users)
			progress.Add(len(users))
			return err
		})
	}
	return group.Wait()
}

func between(begin, end int) []int {
	users := make([]int, end-begin)
	for i := range users {
		users[i] = begin + i
	}
	return users
}

// items makes the documents of some users one at a time; an error ends them and is kept.
func (c collection[T]) items(users []int, failed *error) iter.Seq[documents.Keyed] {
	return func(yield func(documents.Keyed) bool) {
		for _, user := range users {
			all, err := c.of(user)
			for _, document := range all {
				if err == nil && c.store != nil {
					err = c.store(&document)
				}
				if err == nil && !yield(documents.Keyed{Key: fmt.Sprint(c.id(document)), Document: document}) {
					return
				}
			}
			if err != nil {
				*failed = err
				return
			}
		}
	}
}

// holds says whether all documents of some users are there.
func (c collection[T]) holds(ctx context.Context, in documents.Collection, users []int) (bool, error) {
	for some := range slices.Chunk(users, sampleBatch) {
		want, err := c.documents(some)
		if err != nil {
			return false, err
		}
		for batch := range slices.Chunk(want, lookups) {
			held, err := in.Count(ctx, c.named(batch))
			if err != nil || held < len(batch) {
				return false, err
			}
		}
	}
	return true, nil
}

func (c collection[T]) documents(users []int) ([]T, error) {
	var all []T
	for _, user := range users {
		some, err := c.of(user)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (c collection[T]) named(some []T) documents.Condition {
	ids := make([]any, len(some))
	for i, document := range some {
		ids[i] = c.id(document)
	}
	return documents.In(c.field, ids)
}

func (c collection[T]) count(ctx context.Context, in *seeding.Opened) (seeding.Row, error) {
	have, err := in.Collection(c.Location).Count(ctx)
	return seeding.Row{Store: c.Service, Collection: c.Collection, Want: c.want(), Have: have}, err
}

func (c collection[T]) differing(ctx context.Context, in *seeding.Opened, users []int) (differ int, err error) {
	want, err := c.documents(users)
	if err != nil {
		return 0, err
	}
	for batch := range slices.Chunk(want, lookups) {
		var found []T
		if err := in.Collection(c.Location).Find(ctx, &found, documents.Query{Where: []documents.Condition{c.named(batch)}}); err != nil {
			return 0, err
		}
		held := map[any]T{}
		for _, document := range found {
			held[c.id(document)] = document
		}
		for _, document := range batch {
			if one, there := held[c.id(document)]; !there || !c.equal(one, document) {
				differ++
			}
		}
	}
	return differ, nil
}

func (c collection[T]) equal(held, want T) bool {
	if c.same != nil {
		return c.same(held, want)
	}
	return reflect.DeepEqual(held, want)
}
