package shop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"loadstone.dev/stone/platform/service"
	"loadstone.dev/stone/platform/tasks"
	"loadstone.dev/stone/platform/web"
)

const selectAccount = "SELECT user_id FROM accounts WHERE id = $1"

type payment struct {
	tables  *pgxpool.Pool
	linpack *tasks.Linpack // nil: nothing is solved
	sleep   time.Duration
	users   *web.Backend
}

func startPayment(ctx context.Context, host *service.Host) error {
	pool, err := host.OpenTables(ctx, "accounts")
	if err != nil {
		return err
	}
	users, err := host.DialHTTP("user")
	if err != nil {
		return err
	}
	p := payment{pool, newLinpack(host), host.Config.Tasks.Sleep, users}
	host.HTTP = http.NewServeMux()
	host.HTTP.HandleFunc("POST "+transferRoute, serve(newSite(host.Log), p.transfer))
	return nil
}

// transfer finds the account, solves a system of equations, sleeps, and has the amount taken from its user's balance: in
// this order, of which the study shows only that the sleep is third.
func (p payment) transfer(r *http.Request) (any, error) {
	id, err := number(r, "id")
	if err != nil {
		return nil, err
	}
	amount, err := number(r, "amount")
	if err != nil {
		return nil, err
	}
	var owner int64
	err = p.tables.QueryRow(r.Context(), selectAccount, id).Scan(&owner)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, web.Problemf(http.StatusNotFound, "there is no account %d", id)
	}
	if err != nil {
		return nil, err
	}
	if p.linpack != nil {
		if err := p.linpack.Run(r.Context(), "LinpackBenchmark2"); err != nil {
			return nil, err
		}
	}
	tasks.Sleep(r.Context(), p.sleep)
	if err := call(r.Context(), p.users, http.MethodPut, putRoute, fmt.Sprintf("?amount=%d", amount), owner); err != nil {
		return nil, err
	}
	return map[string]int64{"account": id, "amount": amount}, nil
}
