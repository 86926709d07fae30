package seeding

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/platform/documents"
)

// Lists is an application whose seed is so small that all its documents are at hand.
type Lists []Collection

// Collection is what one collection of an application holds before any load.
type Collection struct {
	documents.Location
	Indexes   []Index
	Documents []documents.Keyed // all of one type
}

// Index is an index that a collection needs.
type Index struct {
	Field  string
	Unique bool
}

// Keeps names the services of all collections.
func (l Lists) Keeps() Stores {
	var stores Stores
	for _, collection := range l {
		if !slices.Contains(stores.Services, collection.Service) {
			stores.Services = append(stores.Services, collection.Service)
		}
	}
	return stores
}

// Fill puts every document, and verifies them.
func (l Lists) Fill(ctx context.Context, into *Opened) ([]Row, error) {
	return l.each(ctx, into, fill, verify)
}

// Reset clears every collection before it is filled.
func (l Lists) Reset(ctx context.Context, into *Opened) ([]Row, error) {
	return l.each(ctx, into, empty, fill, verify)
}

// Verify compares all documents.
func (l Lists) Verify(ctx context.Context, in *Opened) ([]Row, error) { return l.each(ctx, in, verify) }

// Count counts them.
func (l Lists) Count(ctx context.Context, in *Opened) ([]Row, error) { return l.each(ctx, in, count) }

// Check finds nothing: no collection says anything of another.
func (l Lists) Check(context.Context, *Opened) ([]Finding, error) { return []Finding{}, nil }

// Describe says how many documents each collection has.
func (l Lists) Describe() map[string]any {
	facts := map[string]any{}
	for _, collection := range l {
		facts[collection.Collection] = len(collection.Documents)
	}
	return facts
}

// step does one thing to a collection, and may say in the row what it found.
type step func(ctx context.Context, in documents.Collection, seed Collection, row *Row) error

// each does the steps to every collection, and returns their rows in order.
func (l Lists) each(ctx context.Context, in *Opened, steps ...step) ([]Row, error) {
	rows := make([]Row, len(l))
	in.Progress.Begin("collections", len(l))
	group, ctx := errgroup.WithContext(ctx)
	for i, seed := range l {
		rows[i] = Row{Store: seed.Service, Collection: seed.Location.Collection, Want: len(seed.Documents)}
		group.Go(func() error {
			for _, do := range steps {
				if err := do(ctx, in.Collection(seed.Location), seed, &rows[i]); err != nil {
					return At(seed.Location, err)
				}
			}
			in.Progress.Add(1)
			return nil
		})
	}
	return rows, group.Wait()
}

// At says in which store and collection something failed.
func At(location documents.Location, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store documents-%s, collection %s: %w", location.Service, location.Collection, err)
}

func empty(ctx context.Context, in documents.Collection, _ Collection, _ *Row) error {
	return in.Clear(ctx)
}

func fill(ctx context.Context, in documents.Collection, seed Collection, _ *Row) error {
	for _, index := range seed.Indexes {
		if err := in.EnsureIndex(ctx, index.Field, index.Unique); err != nil {
			return err
		}
	}
	return in.Put(ctx, seed.Documents...)
}

func count(ctx context.Context, in documents.Collection, _ Collection, row *Row) (err error) {
	row.Have, err = in.Count(ctx)
	return err
}

func verify(ctx context.Context, in documents.Collection, seed Collection, row *Row) error {
	if err := count(ctx, in, seed, row); err != nil || row.Have != row.Want {
		return err
	}
	var err error
	row.Differing, err = differing(ctx, in, seed.Documents)
	return err
}

// differing counts the seed's documents that are not in the collection as they should be.
func differing(ctx context.Context, in documents.Collection, seed []documents.Keyed) (int, error) {
	if len(seed) == 0 {
		return 0, nil
	}
	list := reflect.New(reflect.SliceOf(reflect.TypeOf(seed[0].Document)))
	if err := in.Find(ctx, list.Interface(), documents.Query{}); err != nil {
		return 0, err
	}
	held := map[string]int{}
	for i := range list.Elem().Len() {
		text, err := json.Marshal(list.Elem().Index(i).Interface())
		if err != nil {
			return 0, err
		}
		held[string(text)]++
	}
	missing := 0
	for _, item := range seed {
		text, err := json.Marshal(item.Document)
		if err != nil {
			return 0, err
		}
		if held[string(text)] == 0 {
			missing++
			continue
		}
		held[string(text)]--
	}
	return missing, nil
}
