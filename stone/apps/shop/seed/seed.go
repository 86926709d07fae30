// Package seed makes what the shop's tables hold before any load: users with balances, an account of each, no orders.
package seed

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"loadstone.dev/stone/platform/seeding"
)

// dataset says what the tables are to hold.
type dataset struct {
	Users   int64 `json:"users"`
	Balance int64 `json:"balance"` // initial balance of each user
}

const (
	mostUsers   = 10_000_000
	mostBalance = 1 << 53 // the largest that JSON's numbers keep exactly
)

type app struct{ dataset }

// New reads the plan's dataset.
func New(plan seeding.Plan) (seeding.App, error) {
	a := app{dataset{Users: 1000, Balance: 1_000_000_000}}
	if err := plan.DatasetInto(&a.dataset); err != nil {
		return nil, err
	}
	if a.Users < 1 || a.Users > mostUsers {
		return nil, fmt.Errorf("dataset: users: %d: want 1 to %d", a.Users, mostUsers)
	}
	if a.Balance < 0 || a.Balance > mostBalance {
		return nil, fmt.Errorf("dataset: balance: %d: want 0 to %d", a.Balance, int64(mostBalance))
	}
	return a, nil
}

// table is one of a service's tables.
type table struct {
	service, name, create string
	// fill inserts the rows that are not there, by the numbers of users and their balance.
	fill string
	// differing counts rows that are not as seeded, by the same numbers.
	differing string
}

var all = []table{
	{
		service: "order", name: "orders",
		create: `id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, user_id bigint NOT NULL, amount bigint NOT NULL`,
	},
	{
		service: "user", name: "users", create: `id bigint PRIMARY KEY, name text NOT NULL, balance bigint NOT NULL`,
		fill: `INSERT INTO users SELECT n, 'user ' || n, $2::bigint FROM generate_series(1, $1::bigint) n ON CONFLICT DO NOTHING`,
		differing: `SELECT count(*) FROM users
			WHERE id NOT BETWEEN 1 AND $1::bigint OR name <> 'user ' || id OR balance <> $2::bigint`,
	},
	{
		service: "payment", name: "accounts", create: `id bigint PRIMARY KEY, user_id bigint NOT NULL`,
		fill: `INSERT INTO accounts SELECT n, n FROM generate_series(1, $1::bigint) n WHERE $2::bigint >= 0 ON CONFLICT DO NOTHING`,
		differing: `SELECT count(*) FROM accounts
			WHERE id NOT BETWEEN 1 AND $1::bigint OR user_id <> id OR $2::bigint < 0`,
	},
}

// Keeps names the services of all tables.
func (a app) Keeps() seeding.Stores {
	var stores seeding.Stores
	for _, one := range all {
		stores.Tables = append(stores.Tables, one.service)
	}
	return stores
}

// Fill makes the tables and adds the rows that are not there.
func (a app) Fill(ctx context.Context, into *seeding.Opened) ([]seeding.Row, error) {
	return a.each(ctx, into, a.fill, a.verify)
}

// Reset empties the tables before they are filled, and removes the files that orders have left.
func (a app) Reset(ctx context.Context, into *seeding.Opened) ([]seeding.Row, error) {
	for _, address := range into.Plan.Entry {
		if err := clearFiles(ctx, address); err != nil {
			return nil, err
		}
	}
	return a.each(ctx, into, a.empty, a.fill, a.verify)
}

// Verify compares the tables with the seed.
func (a app) Verify(ctx context.Context, in *seeding.Opened) ([]seeding.Row, error) {
	return a.each(ctx, in, a.make, a.verify)
}

// Count counts rows.
func (a app) Count(ctx context.Context, in *seeding.Opened) ([]seeding.Row, error) {
	return a.each(ctx, in, a.make, a.count)
}

// Describe says how much there is.
func (a app) Describe() map[string]any {
	return map[string]any{"users": a.Users, "balance": a.Balance}
}

type step func(ctx context.Context, in *seeding.Opened, of table, row *seeding.Row) error

func (a app) each(ctx context.Context, in *seeding.Opened, steps ...step) ([]seeding.Row, error) {
	rows := make([]seeding.Row, len(all))
	in.Progress.Begin("tables", len(all))
	group, ctx := errgroup.WithContext(ctx)
	for i, one := range all {
		rows[i] = seeding.Row{Store: "postgres-" + one.service, Collection: one.name}
		if one.fill != "" {
			rows[i].Want = int(a.Users)
		}
		group.Go(func() error {
			for _, do := range steps {
				if err := do(ctx, in, one, &rows[i]); err != nil {
					return fmt.Errorf("store postgres-%s, table %s: %w", one.service, one.name, err)
				}
			}
			in.Progress.Add(1)
			return nil
		})
	}
	return rows, group.Wait()
}

func (a app) make(ctx context.Context, in *seeding.Opened, of table, _ *seeding.Row) error {
	_, err := in.Tables[of.service].Exec(ctx, "CREATE TABLE IF NOT EXISTS "+of.name+" ("+of.create+")")
	return err
}

func (a app) empty(ctx context.Context, in *seeding.Opened, of table, row *seeding.Row) error {
	if err := a.make(ctx, in, of, row); err != nil {
		return err
	}
	_, err := in.Tables[of.service].Exec(ctx, "TRUNCATE "+of.name+" RESTART IDENTITY")
	return err
}

// fill ends with statistics of the table, so that no plan of a query changes in a run.
func (a app) fill(ctx context.Context, in *seeding.Opened, of table, row *seeding.Row) error {
	if err := a.make(ctx, in, of, row); err != nil {
		return err
	}
	if of.fill != "" {
		if _, err := in.Tables[of.service].Exec(ctx, of.fill, a.Users, a.Balance); err != nil {
			return err
		}
	}
	_, err := in.Tables[of.service].Exec(ctx, "ANALYZE "+of.name)
	return err
}

func (a app) count(ctx context.Context, in *seeding.Opened, of table, row *seeding.Row) error {
	return in.Tables[of.service].QueryRow(ctx, "SELECT count(*) FROM "+of.name).Scan(&row.Have)
}

func (a app) verify(ctx context.Context, in *seeding.Opened, of table, row *seeding.Row) error {
	if err := a.count(ctx, in, of, row); err != nil || row.Have != row.Want || of.differing == "" {
		return err
	}
	return in.Tables[of.service].QueryRow(ctx, of.differing, a.Users, a.Balance).Scan(&row.Differing)
}

const clearTimeout = 5 * time.Minute // for tens of thousands of files on a slow disk

// client uses no web proxy: none leads to a node.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// clearFiles has a replica of order remove what its tasks have written.
func clearFiles(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, clearTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, "http://"+address+"/files", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("files of order: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("files of order at %s: status %d", address, response.StatusCode)
	}
	return nil
}
