// Package seed makes what the docstore's database holds before any load: so many documents of 100 to 200 bytes.
package seed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"

	"loadstone.dev/stone/apps/docstore"
	"loadstone.dev/stone/platform/seeding"
)

const (
	collection    = "documents"
	mostDocuments = 10_000_000
	batch         = 1000 // documents of one request
)

type app struct {
	Documents int `json:"documents"`
}

// New reads the plan's dataset.
func New(plan seeding.Plan) (seeding.App, error) {
	a := app{Documents: 1000}
	if err := plan.DatasetInto(&a); err != nil {
		return nil, err
	}
	if a.Documents < 1 || a.Documents > mostDocuments {
		return nil, fmt.Errorf("dataset: documents: %d: want 1 to %d", a.Documents, mostDocuments)
	}
	return a, nil
}

// document is what is stored under ID(n).
type document struct {
	ID     string `json:"_id"`
	Number int    `json:"number"`
	Text   string `json:"text"`
}

const letters = "abcdefghijklmnopqrstuvwxyz "

// made is document n, always the same.
func made(n int) document {
	random := rand.New(rand.NewPCG(uint64(n), 0))
	text := make([]byte, 60+random.IntN(80))
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return document{ID: ID(n), Number: n, Text: string(text)}
}

// ID is that of document n; the first is number 1.
func ID(n int) string { return fmt.Sprintf("document-%d", n) }

// Keeps names no store of documents: CouchDB is one of its own.
func (a app) Keeps() seeding.Stores { return seeding.Stores{} }

// Fill makes the database and adds the documents that are not there.
func (a app) Fill(ctx context.Context, into *seeding.Opened) ([]seeding.Row, error) {
	return a.each(ctx, into, a.fill, a.verify)
}

// Reset makes the database anew.
func (a app) Reset(ctx context.Context, into *seeding.Opened) ([]seeding.Row, error) {
	return a.each(ctx, into, remove, a.fill, a.verify)
}

// Verify compares the documents with the seed.
func (a app) Verify(ctx context.Context, in *seeding.Opened) ([]seeding.Row, error) {
	return a.each(ctx, in, a.verify)
}

// Count counts documents.
func (a app) Count(ctx context.Context, in *seeding.Opened) ([]seeding.Row, error) {
	return a.each(ctx, in, count)
}

// Check has nothing to compare: there is one store.
func (a app) Check(context.Context, *seeding.Opened) ([]seeding.Finding, error) {
	return []seeding.Finding{}, nil
}

// Describe says how much there is.
func (a app) Describe() map[string]any { return map[string]any{"documents": a.Documents} }

type step func(ctx context.Context, in store, row *seeding.Row) error

func (a app) each(ctx context.Context, in *seeding.Opened, steps ...step) ([]seeding.Row, error) {
	if len(in.Plan.CouchDB) != 1 {
		return nil, fmt.Errorf("%w: couchdb: %d addresses; want one", seeding.ErrPlan, len(in.Plan.CouchDB))
	}
	var row seeding.Row
	for name, address := range in.Plan.CouchDB {
		row = seeding.Row{Store: name, Collection: collection, Want: a.Documents}
		for _, do := range steps {
			if err := do(ctx, store{address, in.Plan.Password, in.Progress}, &row); err != nil {
				return nil, fmt.Errorf("store %s: %w", name, err)
			}
		}
	}
	return []seeding.Row{row}, nil
}

func remove(ctx context.Context, in store, _ *seeding.Row) error {
	return in.send(ctx, http.MethodDelete, "/"+docstore.Database, nil, nil, http.StatusOK, http.StatusNotFound)
}

// everybody may read and write documents: those who load the database have no password.
var everybody = map[string]any{
	"admins": map[string]any{"names": []string{}, "roles": []string{"_admin"}}, "members": map[string]any{"names": []string{}, "roles": []string{}},
}

func (a app) fill(ctx context.Context, into store, _ *seeding.Row) error {
	err := into.send(ctx, http.MethodPut, "/"+docstore.Database, nil, nil, http.StatusCreated, http.StatusPreconditionFailed)
	if err == nil {
		err = into.send(ctx, http.MethodPut, "/"+docstore.Database+"/_security", everybody, nil, http.StatusOK)
	}
	if err != nil {
		return err
	}
	into.progress.Begin("documents", a.Documents)
	for first := 1; first <= a.Documents; first += batch {
		last := min(first+batch-1, a.Documents)
		docs := make([]document, 0, batch)
		for n := first; n <= last; n++ {
			docs = append(docs, made(n))
		}
		var results []struct{ ID, Error, Reason string }
		err := into.send(ctx, http.MethodPost, "/"+docstore.Database+"/_bulk_docs", map[string]any{"docs": docs}, &results, http.StatusCreated)
		if err != nil {
			return err
		}
		for _, result := range results {
			if result.Error != "" && result.Error != "conflict" { // a conflict is one that is there
				return fmt.Errorf("document %s: %s: %s", result.ID, result.Error, result.Reason)
			}
		}
		into.progress.Add(len(docs))
	}
	return nil
}

// errAbsent: there is no database, so no documents.
var errAbsent = errors.New("there is no database")

func count(ctx context.Context, in store, row *seeding.Row) error {
	var about struct {
		Count int `json:"doc_count"`
	}
	err := in.send(ctx, http.MethodGet, "/"+docstore.Database, nil, &about, http.StatusOK)
	row.Have = about.Count
	if errors.Is(err, errAbsent) { // the store lost what it held
		return nil
	}
	return err
}

func (a app) verify(ctx context.Context, in store, row *seeding.Row) error {
	if err := count(ctx, in, row); err != nil || row.Have != row.Want {
		return err
	}
	for first := 1; first <= a.Documents; first += batch {
		var keys []string
		for n := first; n <= min(first+batch-1, a.Documents); n++ {
			keys = append(keys, ID(n))
		}
		var found struct {
			Rows []struct{ Doc json.RawMessage }
		}
		err := in.send(ctx, http.MethodPost, "/"+docstore.Database+"/_all_docs?include_docs=true", map[string]any{"keys": keys}, &found, http.StatusOK)
		if err != nil {
			return err
		}
		for i := range keys {
			var there document
			as := i < len(found.Rows) && json.Unmarshal(found.Rows[i].Doc, &there) == nil && there == made(first+i)
			if !as {
				row.Differing++
			}
		}
	}
	return nil
}
