package documents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

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
		if query.After != nil {
			after, err := jsonText("value to read on from", query.After)
			if err != nil {
				return "", nil, err
			}
			joint, comes := " WHERE", ">"
			if condition != "" {
				joint = " AND"
			}
			if query.Descending {
				comes = "<"
			}
			args = append(args, after)
			sql += fmt.Sprintf("%s (%s) %s $%d::jsonb", joint, value(query.OrderBy), comes, len(args))
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

// readOne reads into a pointer what a query of one row and one document finds.
func (c *postgresCollection) readOne(ctx context.Context, into any, sql string, args ...any) error {
	var body []byte
	err := c.pool.QueryRow(ctx, sql, args...).Scan(&body)
	if errors.Is(err, pgx.ErrNoRows) || isMissing(err) {
		return ErrNotFound
	}
	if err != nil {
		return translate(err)
	}
	return json.Unmarshal(body, into)
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

// value is the expression of a field, the same in indexes and queries so that the former serve the latter.
func value(field string) string { return "body->'" + field + "'" }
