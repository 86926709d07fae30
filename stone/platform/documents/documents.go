// Package documents keeps JSON-like documents behind one narrow interface with two real
// adapters: PostgreSQL (JSONB, one table a collection) and MongoDB (official driver).
// Which one runs is a factor of a study, so both must behave alike: conformance_test.go
// is the definition of "alike" and runs against both.
//
// A document is a Go struct with `json` tags; both adapters use them, for field names too.
// A field in a condition, an index or an order is a top-level field of the document.
package documents

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
)

var (
	// ErrNotFound: no document satisfies the conditions.
	ErrNotFound = errors.New("documents: not found")
	// ErrDuplicate: a write would break a unique index.
	ErrDuplicate = errors.New("documents: duplicate value in a unique index")
)

// Store is one document database server. Safe for concurrent use.
type Store interface {
	// Collection names a collection within a database, e.g. ("geo-db", "geo"). It does no I/O: a
	// collection comes into being with its first write or index; before that it reads as empty.
	Collection(database, name string) Collection
	// Ping asks the server for an answer; it is the readiness check of a service.
	Ping(ctx context.Context) error
	// Close returns every connection.
	Close(ctx context.Context) error
}

// Collection is a set of documents, each with a key that is not part of the document.
type Collection interface {
	// EnsureIndex makes an ascending index over one field unless it is there already. Where it is
	// unique, every document should have the field: the adapters differ about several without.
	EnsureIndex(ctx context.Context, field string, unique bool) error
	// Insert adds a document under a new key; ErrDuplicate if a unique index forbids it.
	Insert(ctx context.Context, document any) error
	// Put writes documents by key, each replacing what the key held: repeating it changes nothing.
	// The keys of one call must differ.
	Put(ctx context.Context, items ...Keyed) error
	// Get reads into (a pointer to a struct) a document that satisfies all conditions; ErrNotFound
	// if there is none. Of several it is any one.
	Get(ctx context.Context, into any, where ...Condition) error
	// Find reads into (a pointer to an empty slice of structs) every document that the query selects;
	// it stays empty if there is none.
	Find(ctx context.Context, into any, query Query) error
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

// Query selects, orders and limits. The zero value selects everything, in no order.
type Query struct {
	Where      []Condition
	OrderBy    string // field; empty: no order
	Descending bool
	Limit      int // 0: no limit
}

// Open prepares a store by its URL's scheme: postgres://user@host:port/database or
// mongodb://host:port. It connects lazily, so that a service can start before its store: ask Ping.
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
