// Package tables opens PostgreSQL: for services that keep plain tables, for their seeding, and for documents.
package tables

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// defaultConnections bounds the pool unless the URL says pool_max_conns. Each connection is a
// process of the server, so it stays well below the 100 of MongoDB's driver, whose are threads.
const defaultConnections = 16

// Open prepares a pool of connections; it connects on first use. The tracer may be nil.
func Open(ctx context.Context, address string, tracer pgx.QueryTracer) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	if parsed, _ := url.Parse(address); parsed == nil || !parsed.Query().Has("pool_max_conns") {
		config.MaxConns = defaultConnections
	}
	config.ConnConfig.Tracer = tracer
	return pgxpool.NewWithConfig(ctx, config)
}

// Exists is a health check: that a table is there, which seeding makes.
func Exists(pool *pgxpool.Pool, table string) func(context.Context) error {
	statement := "SELECT FROM " + pgx.Identifier{table}.Sanitize() + " LIMIT 0"
	return func(ctx context.Context) error {
		_, err := pool.Exec(ctx, statement)
		var reported *pgconn.PgError
		if errors.As(err, &reported) && reported.Code == "42P01" { // undefined_table
			return fmt.Errorf("there is no table %s; seed the stores", table)
		}
		return err
	}
}
