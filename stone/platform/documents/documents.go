// Package documents keeps JSON-like documents behind one narrow interface with two real
// adapters: PostgreSQL (JSONB, one table a collection) and MongoDB (official driver).
// Which one runs is a factor of a study, so both must behave alike: conformance_test.go
// is the definition of "alike" and runs against both.
//
// A document is a Go struct with `json` tags; both adapters use them, for field names too. It embeds
// no struct and uses no `,string` option, which they read differently. Whole numbers of 64 bits
// with a sign and floating-point numbers come back exactly. What one of the two could not keep, both
// refuse with ErrUnstorable: text with a NUL character or that is not UTF-8, a number that is not
// finite or is beyond int64, in documents, elements, keys and conditions alike.
// A field in a condition, an index or an order is a top-level field of the document.
package documents

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/url"
	"regexp"
)

var (
	// ErrNotFound: no document satisfies the conditions.
	ErrNotFound = errors.New("documents: not found")
	// ErrDuplicate: a write would break a unique index.
	ErrDuplicate = errors.New("documents: duplicate value in a unique index")
	// ErrNotKept: there is no copy to restore, or it is of something else.
	ErrNotKept = errors.New("documents: not kept")
	// ErrUnstorable: a value that not every store could keep; the message says where it stands and why.
	ErrUnstorable = errors.New("documents: cannot be stored")
)

// Store is one document database server. Safe for concurrent use.
type Store interface {
	// Collection names a collection within a database, e.g. ("geo-db", "geo"). It does no I/O: a
	// collection comes into being with its first write or index; before that it reads as empty.
	Collection(database, name string) Collection
	// Ping checks that the server answers; it is the readiness check of a service.
	Ping(ctx context.Context) error
	// Close returns every connection.
	Close(ctx context.Context) error
}

// Collection is a set of documents, each with a key that is not part of the document.
type Collection interface {
	// EnsureIndex makes an ascending index over one field unless it is there already. Where it is
	// unique, every document should have the field: the adapters differ about several without.
	EnsureIndex(ctx context.Context, field string, unique bool) error
	// Insert adds documents under new keys; ErrDuplicate if a unique index forbids one. All of them or
	// none: with MongoDB, those before the refused one can be seen until they are removed again.
	Insert(ctx context.Context, documents ...any) error
	// Put writes documents by key, each replacing what the key held: repeating it changes nothing.
	// The keys of one call must differ.
	Put(ctx context.Context, items ...Keyed) error
	// Replace writes a document over the one that satisfies all conditions, of which there must be one at
	// most, and says whether there was one. It is one step in the store: of two calls at the same time
	// that replace what both have read, the second finds none.
	Replace(ctx context.Context, document any, where ...Condition) (replaced bool, err error)
	// Load is Put of many documents, read one at a time: a way to fill a collection fast in little
	// memory. After an error PostgreSQL has none of them, MongoDB some.
	Load(ctx context.Context, items iter.Seq[Keyed]) error
	// Keep copies the collection within the store, in place of an earlier copy. The mark says what
	// the copy is of (a digest of the dataset).
	Keep(ctx context.Context, mark string) error
	// Restore makes the collection's documents those of the copy that Keep made, within the store, and
	// keeps the indexes; ErrNotKept, and no change, if there is no copy with this mark.
	Restore(ctx context.Context, mark string) error
	// Get reads into (a pointer to a struct) a document that satisfies all conditions; ErrNotFound
	// if there is none. Of several it is any one.
	Get(ctx context.Context, into any, where ...Condition) error
	// Find reads into (a pointer to an empty slice of structs) every document that the query selects;
	// it stays empty if there is none.
	Find(ctx context.Context, into any, query Query) error
	// Each reads every document, one at a time, for collections that are too large for Find: visit may
	// decode it into a pointer to a struct. With fields it reads only those. An error of visit ends it.
	Each(ctx context.Context, visit func(decode func(into any) error) error, fields ...string) error
	// Head is like Get with one condition, but cuts the array to its first n elements in the store.
	Head(ctx context.Context, into any, array string, n int, at Condition) error
	// Push puts an element at the front of the array of the document that satisfies the condition,
	// which has one value, of a field with a unique index: Push makes the index if it is not there.
	// Where there is no such document it makes one of these two fields. With once (a field of the
	// element) it changes nothing if the array has an element with the same value there. It is one
	// step in the store: concurrent calls lose nothing.
	Push(ctx context.Context, at Condition, array string, element any, once string) error
	// Pull removes every element whose field has the value from the array of the document that
	// satisfies the condition (as in Push). Where there is none, there is nothing to do.
	Pull(ctx context.Context, at Condition, array, field string, value any) error
	// AddWithin adds an amount, which may be negative, to the whole number in a field of the document that satisfies the
	// condition (as in Push), unless the sum would be above the limit, and says whether it did. Where there is no such
	// document it makes one of these two fields, unless the amount alone is above the limit. It is one step in the store:
	// concurrent calls never pass the limit.
	AddWithin(ctx context.Context, at Condition, field string, amount, limit int64) (added bool, err error)
	// Count counts the documents that satisfy all conditions.
	Count(ctx context.Context, where ...Condition) (int, error)
	// Clear removes every document and keeps the indexes.
	Clear(ctx context.Context) error
}

// Keyed is a document and the key it is put under.
type Keyed struct {
	Key      string
	Document any
}

// Condition holds for a document whose field equals one of the values (strings, numbers or
// booleans; the text "1" is not the number 1). With no values it holds for none.
type Condition struct {
	Field  string
	Values []any
}

// Equal holds where the field has exactly this value.
func Equal(field string, value any) Condition {
	return Condition{Field: field, Values: []any{value}}
}

// In holds where the field has one of these values.
func In[T any](field string, values []T) Condition {
	anys := make([]any, len(values))
	for i, value := range values {
		anys[i] = value
	}
	return Condition{Field: field, Values: anys}
}

// only is the value of a condition that must have one: what Push, Pull and Head find a document by.
func (c Condition) only() (any, error) {
	if len(c.Values) != 1 {
		return nil, fmt.Errorf("documents: condition on %q has %d values, want one (use Equal)", c.Field, len(c.Values))
	}
	return c.Values[0], checkFields(c.Field)
}

// Query selects, orders and limits. The zero value selects everything, in no order.
type Query struct {
	Where      []Condition
	OrderBy    string // field; empty: no order
	Descending bool
	After      any // only documents whose field comes after this value in that order, for reading on; nil: all
	Limit      int // 0: no limit
}

// Open prepares a store by its URL's scheme: postgres://user@host:port/database or
// mongodb://user@host:port. It connects lazily, so that a service can start before its store: ask Ping.
// Options of the drivers go into the URL's query (pool_max_conns=, maxPoolSize= ...).
func Open(ctx context.Context, address string) (Store, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("documents: bad address %q: %w", address, err)
	}
	switch parsed.Scheme {
	case "postgres", "postgresql":
		return openPostgres(ctx, address)
	case "mongodb", "mongodb+srv":
		return openMongo(address)
	default:
		return nil, fmt.Errorf("documents: address %q: scheme must be postgres:// or mongodb://", address)
	}
}

var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkFields refuses what one adapter would read as a path or an operator and the other as a name.
func checkFields(names ...string) error {
	for _, name := range names {
		if !fieldName.MatchString(name) {
			return fmt.Errorf("documents: %q is not a field name (letters, digits and _)", name)
		}
	}
	return nil
}

// checkHead returns how many elements to ask for: the stores count in 32 bits, and no array has so many.
func checkHead(array string, n int) (int, error) {
	if n < 0 {
		return 0, fmt.Errorf("documents: the first %d elements of %q: want 0 or more", n, array)
	}
	return min(n, math.MaxInt32), checkFields(array)
}

func lacksField(once string) error {
	return fmt.Errorf("documents: the element has no field %q to tell it from others by", once)
}

// checkKept compares the mark that a copy has (empty: there is no copy) with the requested mark.
func checkKept(collection, has, want string) error {
	switch has {
	case want:
		return nil
	case "":
		return fmt.Errorf("%w: collection %s has no copy; fill it and Keep it", ErrNotKept, collection)
	default:
		return fmt.Errorf("%w: the copy of collection %s is of %q, not of %q; fill it and Keep it", ErrNotKept, collection, has, want)
	}
}

func checkMark(mark string) error {
	if mark == "" {
		return errors.New("documents: the mark of a copy is empty; give a digest of what it is of")
	}
	return checkStorable("mark", mark)
}
