package tracing

import (
	"context"
	"errors"

	"loadstone.dev/stone/platform/documents"
)

// Documents has each access to the service's document store be a span: "find profile", of the peer
// "documents-<service>".
func (t *Tracing) Documents(store documents.Store) documents.Store {
	if t == nil {
		return store
	}
	return tracedStore{store, t.neighbour("documents-" + t.service)}
}

type tracedStore struct {
	documents.Store
	need *neighbour
}

func (s tracedStore) Collection(database, name string) documents.Collection {
	return tracedCollection{s.Store.Collection(database, name), s.need, name}
}

// tracedCollection traces what requests do; what seeding does is none.
type tracedCollection struct {
	documents.Collection
	need *neighbour
	name string
}

func (c tracedCollection) Insert(ctx context.Context, items ...any) error {
	span := c.need.access(ctx, "insert", c.name)
	return endDocuments(span, c.Collection.Insert(ctx, items...))
}

func (c tracedCollection) Put(ctx context.Context, items ...documents.Keyed) error {
	span := c.need.access(ctx, "put", c.name)
	return endDocuments(span, c.Collection.Put(ctx, items...))
}

func (c tracedCollection) Replace(ctx context.Context, document any, where ...documents.Condition) (bool, error) {
	span := c.need.access(ctx, "replace", c.name)
	replaced, err := c.Collection.Replace(ctx, document, where...)
	return replaced, endDocuments(span, err)
}

func (c tracedCollection) Get(ctx context.Context, into any, where ...documents.Condition) error {
	span := c.need.access(ctx, "get", c.name)
	return endDocuments(span, c.Collection.Get(ctx, into, where...))
}

func (c tracedCollection) Find(ctx context.Context, into any, query documents.Query) error {
	span := c.need.access(ctx, "find", c.name)
	return endDocuments(span, c.Collection.Find(ctx, into, query))
}

func (c tracedCollection) Each(ctx context.Context, visit func(decode func(into any) error) error, fields ...string) error {
	span := c.need.access(ctx, "each", c.name)
	return endDocuments(span, c.Collection.Each(ctx, visit, fields...))
}

func (c tracedCollection) Head(ctx context.Context, into any, array string, n int, at documents.Condition) error {
	span := c.need.access(ctx, "head", c.name)
	return endDocuments(span, c.Collection.Head(ctx, into, array, n, at))
}

func (c tracedCollection) Push(ctx context.Context, at documents.Condition, array string, element any, once string) error {
	span := c.need.access(ctx, "push", c.name)
	return endDocuments(span, c.Collection.Push(ctx, at, array, element, once))
}

func (c tracedCollection) Pull(ctx context.Context, at documents.Condition, array, field string, value any) error {
	span := c.need.access(ctx, "pull", c.name)
	return endDocuments(span, c.Collection.Pull(ctx, at, array, field, value))
}

func (c tracedCollection) AddWithin(ctx context.Context, at documents.Condition, field string, amount, limit int64) (bool, error) {
	span := c.need.access(ctx, "add", c.name)
	added, err := c.Collection.AddWithin(ctx, at, field, amount, limit)
	return added, endDocuments(span, err)
}

func (c tracedCollection) Count(ctx context.Context, where ...documents.Condition) (int, error) {
	span := c.need.access(ctx, "count", c.name)
	count, err := c.Collection.Count(ctx, where...)
	return count, endDocuments(span, err)
}

// endDocuments: that there is no such document is an answer.
func endDocuments(span *span, err error) error {
	if errors.Is(err, documents.ErrNotFound) {
		span.end()
		return err
	}
	span.endWith(err)
	return err
}
