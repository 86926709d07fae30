package documents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// defaultConnections bounds the pool unless the URL says pool_max_conns. Each connection is a
// process of the server, so it stays well below the 100 of MongoDB's driver, whose are threads.
const defaultConnections = 16

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
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	if parsed, _ := url.Parse(address); parsed == nil || !parsed.Query().Has("pool_max_conns") {
		config.MaxConns = defaultConnections
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
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
		if err := checkStorable("key", item.Key); err != nil {
			return err
		}
		var err error
		if bodies[i], err = jsonText("document "+item.Key, item.Document); err != nil {
			return err
		}
		keys[i] = item.Key
	}
	return c.write(ctx, "INSERT INTO "+c.table+" (key, body) SELECT * FROM unnest($1::text[], $2::jsonb[])"+
		" ON CONFLICT (key) DO UPDATE SET body = excluded.body", keys, bodies)
}

// write runs one statement and makes the table first if it turns out not to exist.
func (c *postgresCollection) write(ctx context.Context, sql string, args ...any) error {
	return c.writeAfter(ctx, func() error { return c.define(ctx, "") }, sql, args...)
}

// writeAfter runs one statement; if it lacks the table or a unique index, it prepares and runs again.
func (c *postgresCollection) writeAfter(ctx context.Context, prepare func() error, sql string, args ...any) error {
	_, err := c.pool.Exec(ctx, sql, args...)
	if isMissing(err) || sqlState(err) == noUniqueIndex {
		if err := prepare(); err != nil {
			return err
		}
		_, err = c.pool.Exec(ctx, sql, args...)
	}
	return translate(err)
}

func (c *postgresCollection) Get(ctx context.Context, into any, where ...Condition) error {
	condition, args, err := predicate(where)
	if err != nil {
		return err
	}
	return c.readOne(ctx, into, "SELECT body FROM "+c.table+condition+" LIMIT 1", args...)
}

func (c *postgresCollection) Find(ctx context.Context, into any, query Query) error {
	sql, args, err := c.selection(query)
	if err != nil {
		return err
	}
	rows, err := c.pool.Query(ctx, sql, args...)
	if err != nil && !isMissing(err) {
		return translate(err)
	}
	bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil && !isMissing(err) {
		return translate(err)
	}
	list := append(append([]byte{'['}, bytes.Join(bodies, []byte{','})...), ']')
	return json.Unmarshal(list, into)
}

func (c *postgresCollection) selection(query Query) (sql string, args []any, err error) {
	condition, args, err := predicate(query.Where)
	if err != nil {
		return "", nil, err
	}
	sql = "SELECT body FROM " + c.table + condition
	if query.OrderBy != "" {
		if err := checkFields(query.OrderBy); err != nil {
			return "", nil, err
		}
		// A document without the field comes before all others, as in MongoDB.
		direction := " NULLS FIRST"
		if query.Descending {
			direction = " DESC NULLS LAST"
		}
		sql += " ORDER BY (" + value(query.OrderBy) + ")" + direction
	}
	if query.Limit > 0 {
		args = append(args, query.Limit)
		sql += fmt.Sprintf(" LIMIT $%d", len(args))
	}
	return sql, args, nil
}

func (c *postgresCollection) Count(ctx context.Context, where ...Condition) (int, error) {
	condition, args, err := predicate(where)
	if err != nil {
		return 0, err
	}
	var count int
	err = c.pool.QueryRow(ctx, "SELECT count(*) FROM "+c.table+condition, args...).Scan(&count)
	if isMissing(err) {
		return 0, nil
	}
	return count, translate(err)
}

func (c *postgresCollection) Clear(ctx context.Context) error {
	_, err := c.pool.Exec(ctx, "TRUNCATE "+c.table)
	if isMissing(err) {
		return nil
	}
	return translate(err)
}

// predicate renders conditions as a WHERE clause with numbered parameters.
func predicate(where []Condition) (clause string, args []any, err error) {
	terms := make([]string, len(where))
	for i, condition := range where {
		if err := checkFields(condition.Field); err != nil {
			return "", nil, err
		}
		values := make([]string, len(condition.Values))
		for j, v := range condition.Values {
			if values[j], err = jsonText("condition on "+condition.Field, v); err != nil {
				return "", nil, err
			}
		}
		if len(values) == 1 { // planned better than an array of one
			args = append(args, values[0])
			terms[i] = fmt.Sprintf("(%s) = $%d::jsonb", value(condition.Field), len(args))
		} else {
			args = append(args, values)
			terms[i] = fmt.Sprintf("(%s) = ANY($%d::jsonb[])", value(condition.Field), len(args))
		}
	}
	if len(terms) == 0 {
		return "", nil, nil
	}
	return " WHERE " + strings.Join(terms, " AND "), args, nil
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

// value is the expression of a field, the same in indexes and queries so that the former serve the latter.
func value(field string) string { return "body->'" + field + "'" }

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
