// Package seeding fills the stores of an application with what they hold before any load, checks that they do, and
// compares after load what several stores say. It runs around every trial, so it works on all stores at once.
package seeding

import (
	"context"
	"errors"
	"fmt"
)

// App is what can be done with an application's stores. Lists is one for an application whose seed is a few documents.
type App interface {
	// Keeps says in which stores the seed is.
	Keeps() Stores
	// Fill puts the seed; what is there already stays. It returns what Verify or, of much data, Count then says.
	Fill(ctx context.Context, into *Opened) ([]Row, error)
	// Reset makes the stores hold the seed and nothing else, and returns as Fill does.
	Reset(ctx context.Context, into *Opened) ([]Row, error)
	// Verify compares the stores with the seed: a row for each collection.
	Verify(ctx context.Context, in *Opened) ([]Row, error)
	// Count counts what is in the collections that Verify has rows of.
	Count(ctx context.Context, in *Opened) ([]Row, error)
	// Check compares what several stores hold with each other, whatever they hold.
	Check(ctx context.Context, in *Opened) ([]Finding, error)
	// Describe returns the numbers of the seed for a person and for drawing requests, as JSON.
	Describe() map[string]any
}

// Stores names where a seed is: the services with document stores, those with tables, and each Redis that holds a part of
// it. Every other Redis of a plan and all caches only remember what is elsewhere: they are emptied after every Fill and Reset.
type Stores struct {
	Services []string
	Tables   []string
	Redis    []string
}

// Mode says what to do with the stores.
type Mode int

const (
	Fill   Mode = iota // put the seed, drop what caches remember
	Reset              // make the stores hold the seed and nothing else
	Verify             // only compare with the seed
	Count              // only count
	Check              // compare the stores with each other
)

// Result is what the stores hold. OK means exactly the seed; in mode Count that they could be read, and in mode Check
// that every finding is.
type Result struct {
	Stores []Row     `json:"stores"`
	Rows   []Finding `json:"rows"` // results of the mode Check
	OK     bool      `json:"ok"`
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

// Finding is how much of something should be so, and is; with at most five examples of what is not.
type Finding struct {
	What     string   `json:"what"`
	Want     int      `json:"want"`
	Have     int      `json:"have"`
	OK       bool     `json:"ok"`
	Examples []string `json:"examples"`
}

// ErrPlan: the plan does not fit the application.
var ErrPlan = errors.New("bad plan")

// Run does to the plan's stores what mode says. It waits for stores that do not answer yet.
func Run(ctx context.Context, plan Plan, app App, mode Mode) (Result, error) {
	opened, err := open(ctx, plan, app.Keeps())
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	defer opened.close()
	if err := opened.wait(ctx); err != nil {
		return Result{}, err
	}
	result := Result{Stores: []Row{}, Rows: []Finding{}, OK: true}
	if mode == Check {
		result.Rows, err = app.Check(ctx, opened)
	} else {
		do := map[Mode]func(context.Context, *Opened) ([]Row, error){
			Fill: app.Fill, Reset: app.Reset, Verify: app.Verify, Count: app.Count}[mode]
		result.Stores, err = do(ctx, opened)
	}
	// After the stores, so that no cache keeps what they held before.
	if err == nil && (mode == Fill || mode == Reset) {
		err = opened.forget(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	for _, row := range result.Stores {
		result.OK = result.OK && (mode == Count || row.Have == row.Want && row.Differing == 0)
	}
	for _, row := range result.Rows {
		result.OK = result.OK && row.OK
	}
	return result, nil
}
