package documents

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
)

// Load copies into a temporary table first, because COPY itself cannot replace what a key holds.
func (c *postgresCollection) Load(ctx context.Context, items iter.Seq[Keyed]) error {
	if err := c.define(ctx, ""); err != nil {
		return err
	}
	next, stop := iter.Pull(items)
	defer stop()
	var refused error // the driver makes the server's error of it
	rows := pgx.CopyFromFunc(func() ([]any, error) {
		item, more := next()
		if !more {
			return nil, nil
		}
		body, err := putText(item)
		if err != nil {
			refused = err
			return nil, err
		}
		return []any{item.Key, body}, nil
	})
	err := pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "CREATE TEMPORARY TABLE incoming (key text, body jsonb) ON COMMIT DROP"); err != nil {
			return err
		}
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"incoming"}, []string{"key", "body"}, rows); err != nil {
			return err
		}
		// Plans are to be the same from the first query on, not to change when autovacuum comes by.
		_, err := tx.Exec(ctx, fmt.Sprintf(`INSERT INTO %[1]s (key, body) SELECT key, body FROM pg_temp.incoming
			ON CONFLICT (key) DO UPDATE SET body = excluded.body; ANALYZE %[1]s`, c.table))
		return err
	})
	if refused != nil {
		return refused
	}
	return translate(err)
}

func (c *postgresCollection) Keep(ctx context.Context, mark string) error {
	if err := checkMark(mark); err != nil {
		return err
	}
	if err := c.define(ctx, "CREATE TABLE IF NOT EXISTS "+c.marks()+" (name text PRIMARY KEY, mark text NOT NULL)"); err != nil {
		return err
	}
	return translate(pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, fmt.Sprintf("DROP TABLE IF EXISTS %[1]s; CREATE TABLE %[1]s AS TABLE %[2]s", c.kept(), c.table))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO "+c.marks()+" VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET mark = excluded.mark",
			c.name, mark)
		return err
	}))
}

func (c *postgresCollection) Restore(ctx context.Context, mark string) error {
	if err := checkMark(mark); err != nil {
		return err
	}
	var has string
	err := c.pool.QueryRow(ctx, "SELECT mark FROM "+c.marks()+" WHERE name = $1", c.name).Scan(&has)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) && !isMissing(err) {
		return translate(err)
	}
	if err := checkKept(c.name, has, mark); err != nil {
		return err
	}
	// One transaction: no reader sees the collection empty.
	return c.define(ctx, fmt.Sprintf("TRUNCATE %[1]s; INSERT INTO %[1]s (key, body) SELECT key, body FROM %[2]s; ANALYZE %[1]s",
		c.table, c.kept()))
}

// kept is the table of the copy, marks the one that says of each copy of the database what it is of.
func (c *postgresCollection) kept() string {
	return pgx.Identifier{c.schema, c.name + "__kept"}.Sanitize()
}

func (c *postgresCollection) marks() string { return pgx.Identifier{c.schema, "__kept"}.Sanitize() }
