package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"loadstone.dev/stone/platform/tables"
)

// SQLSTATE codes (PostgreSQL manual, appendix A).
const (
	uniqueViolation   = "23505"
	undefinedTable    = "42P01"
	invalidSchemaName = "3F000"
	noUniqueIndex     = "42P10" // of ON CONFLICT
)

// postgresStore keeps a database as a schema and a collection as a table (key, body jsonb).
type postgresStore struct{ pool *pgxpool.Pool }

func openPostgres(ctx context.Context, address string) (Store, error) {
	pool, err := tables.Open(ctx, address, nil)
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	return &postgresStore{pool}, nil
}

func (s *postgresStore) Collection(database, name string) Collection {
	return &postgresCollection{pool: s.pool, schema: database, name: name,
		table: pgx.Identifier{database, name}.Sanitize()}
}

func (s *postgresStore) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }

func (s *postgresStore) Close(context.Context) error {
	s.pool.Close()
	return nil
}

type postgresCollection struct {
	pool                *pgxpool.Pool
	schema, name, table string // table: schema and name, quoted
}

func (c *postgresCollection) EnsureIndex(ctx context.Context, field string, unique bool) error {
	if err := checkFields(field); err != nil {
		return err
	}
	create, suffix := "CREATE INDEX", "_index"
	if unique {
		create, suffix = "CREATE UNIQUE INDEX", "_unique"
	}
	return c.define(ctx, fmt.Sprintf("%s IF NOT EXISTS %s ON %s ((%s) NULLS FIRST)",
		create, pgx.Identifier{c.name + "_" + field + suffix}.Sanitize(), c.table, value(field)))
}

// define makes the schema and the table, then runs one more definition, all in one transaction.
// The lock is there because concurrent CREATE ... IF NOT EXISTS of the same name can collide.
func (c *postgresCollection) define(ctx context.Context, definition string) error {
	_, err := c.pool.Exec(ctx, fmt.Sprintf(`SELECT pg_advisory_xact_lock(7305);
		CREATE SCHEMA IF NOT EXISTS %s;
		CREATE TABLE IF NOT EXISTS %s (key text PRIMARY KEY DEFAULT gen_random_uuid()::text, body jsonb NOT NULL);
		%s`, pgx.Identifier{c.schema}.Sanitize(), c.table, definition))
	return translate(err)
}

func (c *postgresCollection) Insert(ctx context.Context, documents ...any) error {
	bodies := make([]string, len(documents))
	for i, document := range documents {
		var err error
		if bodies[i], err = jsonText("document", document); err != nil {
			return err
		}
	}
	return c.write(ctx, "INSERT INTO "+c.table+" (body) SELECT unnest($1::jsonb[])", bodies)
}

func (c *postgresCollection) Put(ctx context.Context, items ...Keyed) error {
	keys, bodies := make([]string, len(items)), make([]string, len(items))
	for i, item := range items {
		var err error
		if bodies[i], err = putText(item); err != nil {
			return err
		}
		keys[i] = item.Key
	}
	return c.write(ctx, "INSERT INTO "+c.table+" (key, body) SELECT * FROM unnest($1::text[], $2::jsonb[])"+
		" ON CONFLICT (key) DO UPDATE SET body = excluded.body", keys, bodies)
}

func (c *postgresCollection) Replace(ctx context.Context, document any, where ...Condition) (bool, error) {
	body, err := jsonText("document", document)
	if err != nil {
		return false, err
	}
	condition, args, err := predicate(where)
	if err != nil {
		return false, err
	}
	args = append(args, body)
	result, err := c.pool.Exec(ctx, fmt.Sprintf("UPDATE %s SET body = $%d::jsonb%s", c.table, len(args), condition), args...)
	if isMissing(err) {
		return false, nil
	}
	return result.RowsAffected() > 0, translate(err)
}

// write runs one statement and makes the table first if it turns out not to exist.
func (c *postgresCollection) write(ctx context.Context, sql string, args ...any) error {
	_, err := c.writeAfter(ctx, func() error { return c.define(ctx, "") }, sql, args...)
	return err
}

// writeAfter runs one statement and returns how many documents it wrote; if it lacks the table or a unique index, it
// prepares and runs again.
func (c *postgresCollection) writeAfter(ctx context.Context, prepare func() error, sql string, args ...any) (written int64, err error) {
	result, err := c.pool.Exec(ctx, sql, args...)
	if isMissing(err) || sqlState(err) == noUniqueIndex {
		if err := prepare(); err != nil {
			return 0, err
		}
		result, err = c.pool.Exec(ctx, sql, args...)
	}
	return result.RowsAffected(), translate(err)
}

func (c *postgresCollection) Clear(ctx context.Context) error {
	_, err := c.pool.Exec(ctx, "TRUNCATE "+c.table)
	if isMissing(err) {
		return nil
	}
	return translate(err)
}

// putText is the body of a document that is put under a key.
func putText(item Keyed) (string, error) {
	if err := checkStorable("key", item.Key); err != nil {
		return "", err
	}
	return jsonText("document "+item.Key, item.Document)
}

// jsonText is a document or a value as the server takes it; what names it for an error.
func jsonText(what string, document any) (string, error) {
	if err := checkStorable(what, document); err != nil {
		return "", err
	}
	text, err := json.Marshal(document)
	if err != nil {
		return "", fmt.Errorf("documents: %s: %w", what, err)
	}
	return string(text), nil
}

func isMissing(err error) bool {
	code := sqlState(err)
	return code == undefinedTable || code == invalidSchemaName
}

func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case sqlState(err) == uniqueViolation:
		return fmt.Errorf("%w: %w", ErrDuplicate, err)
	default:
		return fmt.Errorf("documents: %w", err)
	}
}

func sqlState(err error) string {
	var reported *pgconn.PgError
	if errors.As(err, &reported) {
		return reported.Code
	}
	return ""
}
