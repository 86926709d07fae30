package documents

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// badValue is the server's code for an array operator on what is not an array.
const badValue = 2

func (c *mongoCollection) Head(ctx context.Context, into any, array string, n int, at Condition) error {
	filter, err := atFilter(at)
	if err != nil {
		return err
	}
	if n, err = checkHead(array, n); err != nil {
		return err
	}
	held := "$" + array
	cut := bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$isArray", Value: held}},
		bson.D{{Key: "$slice", Value: bson.A{held, n}}}, held}}}
	cursor, err := c.collection.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$match", Value: filter}}, {{Key: "$limit", Value: 1}}, {{Key: "$addFields", Value: bson.D{{Key: array, Value: cut}}}}})
	if err != nil {
		return translateMongo(err)
	}
	defer func() { _ = cursor.Close(ctx) }()
	if !cursor.Next(ctx) {
		if cursor.Err() == nil {
			return ErrNotFound
		}
		return translateMongo(cursor.Err())
	}
	return translateMongo(cursor.Decode(into))
}

func (c *mongoCollection) Push(ctx context.Context, at Condition, array string, element any, once string) error {
	filter, err := pushFilter(at, array, element, once)
	if err != nil {
		return err
	}
	if err := c.ensureUnique(ctx, at.Field); err != nil {
		return err
	}
	push := bson.D{{Key: "$push", Value: bson.D{{Key: array, Value: bson.D{
		{Key: "$each", Value: bson.A{element}}, {Key: "$position", Value: 0}}}}}}
	_, err = c.collection.UpdateOne(ctx, filter, push, options.UpdateOne().SetUpsert(true))
	if isNotAnArray(err) { // a Go slice that is nil was stored as null
		if err = c.emptyNull(ctx, at, array); err == nil {
			_, err = c.collection.UpdateOne(ctx, filter, push)
		}
	}
	// The document is there: either it has the element, or another call has just made it.
	if mongo.IsDuplicateKeyError(err) {
		_, err = c.collection.UpdateOne(ctx, filter, push)
	}
	return translateMongo(err)
}

// pushFilter finds the document that an element is to be put into.
func pushFilter(at Condition, array string, element any, once string) (bson.D, error) {
	filter, err := atFilter(at)
	if err != nil {
		return nil, err
	}
	if err := checkFields(array); err != nil {
		return nil, err
	}
	if err := checkStorable("element", element); err != nil {
		return nil, err
	}
	if once == "" {
		return filter, nil
	}
	if err := checkFields(once); err != nil {
		return nil, err
	}
	encoded, err := encode("element", element)
	if err != nil {
		return nil, err
	}
	id, err := encoded.LookupErr(once)
	if err != nil {
		return nil, lacksField(once)
	}
	same := bson.D{{Key: "$elemMatch", Value: bson.D{{Key: once, Value: id}}}}
	return append(filter, bson.E{Key: array, Value: bson.D{{Key: "$not", Value: same}}}), nil
}

// ensureUnique makes a unique index at the first call of this store: without it, two upserts at a
// time make two documents.
func (c *mongoCollection) ensureUnique(ctx context.Context, field string) error {
	name := [3]string{c.collection.Database().Name(), c.collection.Name(), field}
	if _, done := c.indexed.Load(name); done {
		return nil
	}
	if err := c.EnsureIndex(ctx, field, true); err != nil {
		return err
	}
	c.indexed.Store(name, true)
	return nil
}

// emptyNull makes an empty array of a null.
func (c *mongoCollection) emptyNull(ctx context.Context, at Condition, array string) error {
	filter, err := atFilter(at)
	if err != nil {
		return err
	}
	filter = append(filter, bson.E{Key: array, Value: bson.D{{Key: "$type", Value: bson.TypeNull}}})
	_, err = c.collection.UpdateOne(ctx, filter, bson.D{{Key: "$set", Value: bson.D{{Key: array, Value: bson.A{}}}}})
	return err
}

func (c *mongoCollection) Pull(ctx context.Context, at Condition, array, field string, unwanted any) error {
	filter, err := atFilter(at)
	if err != nil {
		return err
	}
	if err := checkFields(array, field); err != nil {
		return err
	}
	if err := checkStorable("value of "+field, unwanted); err != nil {
		return err
	}
	// The second condition also passes by what is no array, which $pull would refuse.
	same := bson.D{{Key: field, Value: unwanted}}
	filter = append(filter, bson.E{Key: array, Value: bson.D{{Key: "$elemMatch", Value: same}}})
	_, err = c.collection.UpdateOne(ctx, filter, bson.D{{Key: "$pull", Value: bson.D{{Key: array, Value: same}}}})
	return translateMongo(err)
}

// atFilter is a condition that must have one value, in the form that an upsert makes a field of.
func atFilter(at Condition) (bson.D, error) {
	only, err := at.only()
	if err != nil {
		return nil, err
	}
	if err := checkStorable("condition on "+at.Field, only); err != nil {
		return nil, err
	}
	return bson.D{{Key: at.Field, Value: only}}, nil
}

func isNotAnArray(err error) bool {
	var refused mongo.ServerError
	return errors.As(err, &refused) && refused.HasErrorCode(badValue)
}
