package seed

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"loadstone.dev/stone/platform/seeding"
)

const mostExamples = 5

// Check compares what users have paid with their orders: an order is stored once it is paid, so no user has paid less. A
// user who has paid more has orders that failed at the last step, or payments without an order.
func (a app) Check(ctx context.Context, in *seeding.Opened) ([]seeding.Finding, error) {
	owed, err := sums(ctx, in, "order", "SELECT user_id, sum(amount)::bigint FROM orders GROUP BY user_id")
	if err != nil {
		return nil, err
	}
	balances, err := sums(ctx, in, "user", "SELECT id, balance FROM users")
	if err != nil {
		return nil, err
	}
	found := seeding.Finding{What: "users who have paid their orders", Want: len(owed), Examples: []string{}}
	for user, amount := range owed {
		balance, is := balances[user]
		switch paid := a.Balance - balance; {
		case is && paid >= amount:
			found.Have++
		case len(found.Examples) == mostExamples:
		case !is:
			found.Examples = append(found.Examples, fmt.Sprintf("user %d has orders and is not there", user))
		default:
			found.Examples = append(found.Examples, fmt.Sprintf("user %d paid %d of %d", user, paid, amount))
		}
	}
	found.OK = found.Have == found.Want
	return []seeding.Finding{found}, nil
}

// sums are pairs of a user and a number.
func sums(ctx context.Context, in *seeding.Opened, service, statement string) (map[int64]int64, error) {
	rows, err := in.Tables[service].Query(ctx, statement)
	if err != nil {
		return nil, fmt.Errorf("store postgres-%s: %w", service, err)
	}
	found := map[int64]int64{}
	var user, number int64
	_, err = pgx.ForEachRow(rows, []any{&user, &number}, func() error {
		found[user] = number
		return nil
	})
	return found, err
}
