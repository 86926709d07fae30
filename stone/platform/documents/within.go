package documents

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func (c *postgresCollection) AddWithin(ctx context.Context, at Condition, field string, amount, limit int64) (bool, error) {
	id, err := atText(at)
	if err != nil {
		return false, err
	}
	if err := checkFields(field); err != nil {
		return false, err
	}
	sum := fmt.Sprintf("(old.body->>'%s')::bigint + $2::bigint", field)
	written, err := c.upsert(ctx, at, fmt.Sprintf(`INSERT INTO %[1]s AS old (body)
		SELECT jsonb_build_object('%[2]s', $1::jsonb, '%[3]s', $2::bigint) WHERE $2::bigint <= $3::bigint
		ON CONFLICT ((%[4]s)) DO UPDATE SET body = jsonb_set(old.body, '{%[3]s}', to_jsonb(%[5]s)) WHERE %[5]s <= $3::bigint`,
		c.table, at.Field, field, value(at.Field), sum), id, amount, limit)
	return written > 0, err
}

func (c *mongoCollection) AddWithin(ctx context.Context, at Condition, field string, amount, limit int64) (bool, error) {
	filter, err := atFilter(at)
	if err != nil {
		return false, err
	}
	if err := checkFields(field); err != nil {
		return false, err
	}
	if err := c.ensureUnique(ctx, at.Field); err != nil {
		return false, err
	}
	filter = append(filter, bson.E{Key: field, Value: bson.D{{Key: "$lte", Value: limit - amount}}})
	add := bson.D{{Key: "$inc", Value: bson.D{{Key: field, Value: amount}}}}
	result, err := c.collection.UpdateOne(ctx, filter, add, options.UpdateOne().SetUpsert(amount <= limit))
	// The document is there: either it has no room, or another call has just made it.
	if mongo.IsDuplicateKeyError(err) {
		result, err = c.collection.UpdateOne(ctx, filter, add)
	}
	if err != nil {
		return false, translateMongo(err)
	}
	return result.MatchedCount+result.UpsertedCount > 0, nil
}
