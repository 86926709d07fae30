// Package seeding fills the document stores of an application with what they hold before any load,
// and checks that they do. It runs before every trial, so it works on all stores at once.
package seeding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/platform/cache"
	"loadstone.dev/stone/platform/documents"
)

// Collection is what one collection of an application holds before any load.
type Collection struct {
	documents.Location
	Index     Index
	Documents []documents.Keyed // all of one type
}

// Index is an index that a collection needs.
type Index struct {
	Field  string
	Unique bool
}

// Mode says what to do with the stores.
type Mode int

const (
	Fill   Mode = iota // put the seed, drop what caches remember, verify
	Reset              // empty stores and caches first, then Fill
	Verify             // only compare with the seed
	Count              // only count
)

// Result is what the stores hold. OK means exactly the seed (in mode Count: that they could be read).
type Result struct {
	Stores []Row `json:"stores"`
	OK     bool  `json:"ok"`
}

// Row compares one collection with its seed. Differing is how many documents of the seed are
// missing or changed, judged only where the counts agree.
type Row struct {
	Store      string `json:"store"`
	Collection string `json:"collection"`
	Want       int    `json:"want"`
	Have       int    `json:"have"`
	Differing  int    `json:"differing"`
}

// ErrPlan: the plan does not fit the application.
var ErrPlan = errors.New("bad plan")

// Run does to the plan's stores what mode says, and reports one row a collection, in their order.
func Run(ctx context.Context, plan Plan, collections []Collection, mode Mode) (Result, error) {
	addresses, err := plan.storeOf(collections)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	stores := map[string]documents.Store{}
	defer func() {
		for _, store := range stores {
			_ = store.Close(ctx)
		}
	}()
	for service, address := range addresses {
		store, err := documents.Open(ctx, address)
		if err != nil {
			return Result{}, fmt.Errorf("%w: stores: %s: %w", ErrPlan, service, err)
		}
		stores[service] = store
	}
	result := Result{Stores: make([]Row, len(collections)), OK: true}
	group, groupCtx := errgroup.WithContext(ctx)
	for i, collection := range collections {
		group.Go(func() error {
			row, err := apply(groupCtx, collection.In(stores[collection.Service]), collection, mode)
			if err != nil {
				return fmt.Errorf("store %s, collection %s: %w", collection.Service, collection.Collection, err)
			}
			result.Stores[i] = row
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Result{}, err
	}
	// After the stores, so that no cache keeps what they held before.
	if mode == Fill || mode == Reset {
		if err := flush(plan.Caches); err != nil {
			return Result{}, err
		}
	}
	for _, row := range result.Stores {
		result.OK = result.OK && (mode == Count || row.Have == row.Want && row.Differing == 0)
	}
	return result, nil
}

// apply does one collection.
func apply(ctx context.Context, into documents.Collection, collection Collection, mode Mode) (Row, error) {
	row := Row{Store: collection.Service, Collection: collection.Collection, Want: len(collection.Documents)}
	if mode == Reset {
		if err := into.Clear(ctx); err != nil {
			return row, err
		}
	}
	if mode == Fill || mode == Reset {
		if err := into.EnsureIndex(ctx, collection.Index.Field, collection.Index.Unique); err != nil {
			return row, err
		}
		if err := into.Put(ctx, collection.Documents...); err != nil {
			return row, err
		}
	}
	var err error
	if row.Have, err = into.Count(ctx); err != nil {
		return row, err
	}
	if mode != Count && row.Have == row.Want {
		row.Differing, err = differing(ctx, into, collection.Documents)
	}
	return row, err
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

// flush empties every cache.
func flush(caches map[string]string) error {
	for name, addresses := range caches {
		opened, err := cache.Open(addresses)
		if err != nil {
			return fmt.Errorf("%w: caches: %s: %w", ErrPlan, name, err)
		}
		err = errors.Join(opened.Flush(), opened.Close())
		if err != nil {
			return fmt.Errorf("cache %s: %w", name, err)
		}
	}
	return nil
}
