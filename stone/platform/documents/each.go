package documents

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func (c *postgresCollection) Each(ctx context.Context, visit func(decode func(into any) error) error, fields ...string) error {
	if err := checkFields(fields...); err != nil {
		return err
	}
	selected := "body"
	if len(fields) > 0 {
		pairs := make([]string, len(fields))
		for i, field := range fields {
			pairs[i] = fmt.Sprintf("'%s', %s", field, value(field))
		}
		selected = "jsonb_build_object(" + strings.Join(pairs, ", ") + ")"
	}
	rows, err := c.pool.Query(ctx, "SELECT "+selected+" FROM "+c.table)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return translate(err)
	}
	defer rows.Close()
	for rows.Next() {
		body := rows.RawValues()[0] // the driver requests jsonb as text
		if err := visit(func(into any) error { return json.Unmarshal(body, into) }); err != nil {
			return err
		}
	}
	return translate(rows.Err())
}

func (c *mongoCollection) Each(ctx context.Context, visit func(decode func(into any) error) error, fields ...string) error {
	if err := checkFields(fields...); err != nil {
		return err
	}
	find := options.Find()
	if len(fields) > 0 {
		projection := bson.D{}
		for _, field := range fields {
			projection = append(projection, bson.E{Key: field, Value: 1})
		}
		find.SetProjection(projection)
	}
	cursor, err := c.collection.Find(ctx, bson.D{}, find)
	if err != nil {
		return translateMongo(err)
	}
	defer func() { _ = cursor.Close(ctx) }()
	for cursor.Next(ctx) {
		if err := visit(func(into any) error { return cursor.Decode(into) }); err != nil {
			return err
		}
	}
	return translateMongo(cursor.Err())
}
