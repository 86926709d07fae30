package shop

import (
	"context"
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/tasks"
	"loadstone.dev/stone/platform/web"
)

const (
	selectUser = "SELECT id, name, balance FROM users WHERE id = $1"
	updateUser = "UPDATE users SET balance = balance - $2 WHERE id = $1 AND balance >= $2 RETURNING balance"
)

type user struct {
	tables  *pgxpool.Pool
	linpack *tasks.Linpack // nil: nothing is solved
}

// person is a row of users.
type person struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Balance int64  `json:"balance"`
}

func startUser(ctx context.Context, host *service.Host) error {
	pool, err := host.OpenTables(ctx, "users")
	if err != nil {
		return err
	}
	u := user{pool, newLinpack(host)}
	site := newSite(host.Log)
	host.HTTP = http.NewServeMux()
	host.HTTP.HandleFunc("GET "+userRoute, serve(site, u.get))
	host.HTTP.HandleFunc("PUT "+putRoute, serve(site, u.put))
	return nil
}

func newLinpack(host *service.Host) *tasks.Linpack {
	if host.Config.Tasks.Linpack == 0 {
		return nil
	}
	return tasks.NewLinpack(host.Config.Tasks.Linpack)
}

// get reads a user, then solves a system of equations.
func (u user) get(r *http.Request) (any, error) {
	found, err := u.find(r)
	if err == nil && u.linpack != nil {
		err = u.linpack.Run(r.Context(), "LinpackBenchmark1")
	}
	return found, err
}

// put takes an amount from a user's balance: one SELECT and one UPDATE.
func (u user) put(r *http.Request) (any, error) {
	amount, err := web.ParseParams(nil, r.URL.RawQuery).ID("amount")
	if err != nil {
		return nil, err
	}
	found, err := u.find(r)
	if err != nil {
		return nil, err
	}
	err = u.tables.QueryRow(r.Context(), updateUser, found.ID, amount).Scan(&found.Balance) // others may have paid meanwhile
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, web.Problemf(http.StatusConflict, "user %d has less than %d", found.ID, amount)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (u user) find(r *http.Request) (found person, err error) {
	id, err := number(r, "id")
	if err != nil {
		return found, err
	}
	err = u.tables.QueryRow(r.Context(), selectUser, id).Scan(&found.ID, &found.Name, &found.Balance)
	if errors.Is(err, pgx.ErrNoRows) {
		err = web.Problemf(http.StatusNotFound, "there is no user %d", id)
	}
	return found, err
}
