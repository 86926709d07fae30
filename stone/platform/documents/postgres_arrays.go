package documents

import (
	"context"
	"fmt"

	"github.com/tidwall/gjson"
)

func (c *postgresCollection) Head(ctx context.Context, into any, array string, n int, at Condition) error {
	if _, err := at.only(); err != nil {
		return err
	}
	n, err := checkHead(array, n)
	if err != nil {
		return err
	}
	condition, args, err := predicate([]Condition{at})
	if err != nil {
		return err
	}
	sql := fmt.Sprintf(`SELECT CASE jsonb_typeof(%[2]s) WHEN 'array' THEN jsonb_set(body, '{%[1]s}',
		jsonb_path_query_array(%[2]s, '$[0 to $last]', jsonb_build_object('last', $2::int)))
		ELSE body END FROM `, array, value(array))
	return c.readOne(ctx, into, sql+c.table+condition+" LIMIT 1", append(args, n-1)...)
}

func (c *postgresCollection) Push(ctx context.Context, at Condition, array string, element any, once string) error {
	id, err := atText(at)
	if err != nil {
		return err
	}
	if err := checkFields(array); err != nil {
		return err
	}
	added, err := jsonText("element", element)
	if err != nil {
		return err
	}
	unless := ""
	if once != "" {
		if err := checkFields(once); err != nil {
			return err
		}
		if !gjson.Get(added, once).Exists() {
			return lacksField(once)
		}
		unless = fmt.Sprintf(" WHERE NOT coalesce(old.%s @> jsonb_build_array(jsonb_build_object('%s', $2::jsonb->'%s')), false)",
			value(array), once, once)
	}
	// A Go slice that is nil was stored as null.
	sql := fmt.Sprintf(`INSERT INTO %[1]s AS old (body)
		VALUES (jsonb_build_object('%[2]s', $1::jsonb, '%[3]s', jsonb_build_array($2::jsonb)))
		ON CONFLICT ((%[4]s)) DO UPDATE SET body = jsonb_set(old.body, '{%[3]s}',
		jsonb_build_array($2::jsonb) || coalesce(nullif(old.%[5]s, 'null'), '[]'))`,
		c.table, at.Field, array, value(at.Field), value(array))
	_, err = c.upsert(ctx, at, sql+unless, id, added)
	return err
}

// upsert runs a statement that needs a unique index of the condition's field.
func (c *postgresCollection) upsert(ctx context.Context, at Condition, sql string, args ...any) (written int64, err error) {
	return c.writeAfter(ctx, func() error { return c.EnsureIndex(ctx, at.Field, true) }, sql, args...)
}

func (c *postgresCollection) Pull(ctx context.Context, at Condition, array, field string, unwanted any) error {
	id, err := atText(at)
	if err != nil {
		return err
	}
	if err := checkFields(array, field); err != nil {
		return err
	}
	text, err := jsonText("value of "+field, unwanted)
	if err != nil {
		return err
	}
	// The second condition spares a rewrite of the document where there is nothing to remove.
	_, err = c.pool.Exec(ctx, fmt.Sprintf(`UPDATE %[1]s SET body = jsonb_set(body, '{%[2]s}', coalesce(
		(SELECT jsonb_agg(element ORDER BY place) FROM jsonb_array_elements(%[3]s) WITH ORDINALITY AS list(element, place)
		WHERE element->'%[4]s' IS DISTINCT FROM $2::jsonb), '[]'))
		WHERE (%[5]s) = $1::jsonb AND %[3]s @> jsonb_build_array(jsonb_build_object('%[4]s', $2::jsonb))`,
		c.table, array, value(array), field, value(at.Field)), id, text)
	if isMissing(err) {
		return nil
	}
	return translate(err)
}

// atText is the value of a condition that must have one, as JSON.
func atText(at Condition) (string, error) {
	only, err := at.only()
	if err != nil {
		return "", err
	}
	return jsonText("condition on "+at.Field, only)
}
