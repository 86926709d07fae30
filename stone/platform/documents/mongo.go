package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// mongoStore is a MongoDB server; a document's key is its _id.
type mongoStore struct {
	client  *mongo.Client
	indexed sync.Map // used by ensureUnique
}

func openMongo(address string) (Store, error) {
	client, err := mongo.Connect(options.Client().ApplyURI(address).
		SetBSONOptions(&options.BSONOptions{UseJSONStructTags: true}))
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	return &mongoStore{client: client}, nil
}

func (s *mongoStore) Collection(database, name string) Collection {
	return &mongoCollection{s.client.Database(database).Collection(name), &s.indexed}
}

func (s *mongoStore) Ping(ctx context.Context) error { return s.client.Ping(ctx, nil) }

func (s *mongoStore) Close(ctx context.Context) error { return s.client.Disconnect(ctx) }

type mongoCollection struct {
	collection *mongo.Collection
	indexed    *sync.Map // shared with the store
}

func (c *mongoCollection) EnsureIndex(ctx context.Context, field string, unique bool) error {
	if err := checkFields(field); err != nil {
		return err
	}
	_, err := c.collection.Indexes().CreateOne(ctx, mongo.IndexModel{
		Keys: bson.D{{Key: field, Value: 1}}, Options: options.Index().SetUnique(unique)})
	return translateMongo(err)
}

func (c *mongoCollection) Insert(ctx context.Context, documents ...any) error {
	if len(documents) == 0 {
		return nil
	}
	encoded := make([]bson.Raw, len(documents))
	for i, document := range documents {
		var err error
		if encoded[i], err = encode("document", document); err != nil {
			return err
		}
	}
	result, err := c.collection.InsertMany(ctx, encoded)
	if err != nil && result != nil && len(result.InsertedIDs) > 0 {
		undo := bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: result.InsertedIDs}}}}
		if _, failed := c.collection.DeleteMany(ctx, undo); failed != nil {
			err = fmt.Errorf("%w; some of the %d documents are in, because their removal failed: %w", err, len(documents), failed)
		}
	}
	return translateMongo(err)
}

func (c *mongoCollection) Put(ctx context.Context, items ...Keyed) error {
	if len(items) == 0 {
		return nil
	}
	writes := make([]mongo.WriteModel, len(items))
	for i, item := range items {
		var err error
		if writes[i], _, err = replacement(item); err != nil {
			return err
		}
	}
	return c.writeAll(ctx, writes)
}

// replacement puts one document; size is about what it takes on the wire, in bytes.
func replacement(item Keyed) (write mongo.WriteModel, size int, err error) {
	if err := checkStorable("key", item.Key); err != nil {
		return nil, 0, err
	}
	encoded, err := encode("document "+item.Key, item.Document)
	if err != nil {
		return nil, 0, err
	}
	return mongo.NewReplaceOneModel().SetUpsert(true).
		SetFilter(bson.D{{Key: "_id", Value: item.Key}}).SetReplacement(encoded), len(encoded), nil
}

func (c *mongoCollection) writeAll(ctx context.Context, writes []mongo.WriteModel) error {
	_, err := c.collection.BulkWrite(ctx, writes, options.BulkWrite().SetOrdered(false))
	return translateMongo(err)
}

func (c *mongoCollection) Replace(ctx context.Context, document any, where ...Condition) (bool, error) {
	encoded, err := encode("document", document)
	if err != nil {
		return false, err
	}
	filter, err := mongoFilter(where)
	if err != nil {
		return false, err
	}
	result, err := c.collection.ReplaceOne(ctx, filter, encoded)
	if err != nil {
		return false, translateMongo(err)
	}
	return result.MatchedCount > 0, nil
}

func (c *mongoCollection) Get(ctx context.Context, into any, where ...Condition) error {
	filter, err := mongoFilter(where)
	if err != nil {
		return err
	}
	err = c.collection.FindOne(ctx, filter).Decode(into)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return ErrNotFound
	}
	return translateMongo(err)
}

func (c *mongoCollection) Find(ctx context.Context, into any, query Query) error {
	filter, err := mongoFilter(query.Where)
	if err != nil {
		return err
	}
	find := options.Find().SetLimit(int64(query.Limit))
	if query.OrderBy != "" {
		if err := checkFields(query.OrderBy); err != nil {
			return err
		}
		direction, comes := 1, "$gt"
		if query.Descending {
			direction, comes = -1, "$lt"
		}
		if query.After != nil {
			if err := checkStorable("value to read on from", query.After); err != nil {
				return err
			}
			after := bson.D{{Key: query.OrderBy, Value: bson.D{{Key: comes, Value: query.After}}}}
			filter = bson.D{{Key: "$and", Value: bson.A{filter, after}}}
		}
		find.SetSort(bson.D{{Key: query.OrderBy, Value: direction}})
	}
	cursor, err := c.collection.Find(ctx, filter, find)
	if err != nil {
		return translateMongo(err)
	}
	return translateMongo(cursor.All(ctx, into))
}

func (c *mongoCollection) Count(ctx context.Context, where ...Condition) (int, error) {
	filter, err := mongoFilter(where)
	if err != nil {
		return 0, err
	}
	count, err := c.collection.CountDocuments(ctx, filter)
	return int(count), translateMongo(err)
}

func (c *mongoCollection) Clear(ctx context.Context) error {
	_, err := c.collection.DeleteMany(ctx, bson.D{})
	return translateMongo(err)
}

// mongoFilter joins conditions by $and, because two of them may name the same field.
func mongoFilter(where []Condition) (bson.D, error) {
	if len(where) == 0 {
		return bson.D{}, nil
	}
	terms := make(bson.A, len(where))
	for i, condition := range where {
		if err := checkFields(condition.Field); err != nil {
			return nil, err
		}
		for _, value := range condition.Values {
			if err := checkStorable("condition on "+condition.Field, value); err != nil {
				return nil, err
			}
		}
		operator := bson.D{{Key: "$in", Value: append(bson.A{}, condition.Values...)}}
		if len(condition.Values) == 1 {
			operator = bson.D{{Key: "$eq", Value: condition.Values[0]}}
		}
		terms[i] = bson.D{{Key: condition.Field, Value: operator}}
	}
	return bson.D{{Key: "$and", Value: terms}}, nil
}

// encode is a document as BSON, with the names of its json tags; what names it for an error.
func encode(what string, document any) (bson.Raw, error) {
	if err := checkStorable(what, document); err != nil {
		return nil, err
	}
	var encoded bytes.Buffer
	encoder := bson.NewEncoder(bson.NewDocumentWriter(&encoded))
	encoder.UseJSONStructTags()
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("documents: %s: %w", what, err)
	}
	return encoded.Bytes(), nil
}

func translateMongo(err error) error {
	switch {
	case err == nil:
		return nil
	case mongo.IsDuplicateKeyError(err):
		return fmt.Errorf("%w: %w", ErrDuplicate, err)
	default:
		return fmt.Errorf("documents: %w", err)
	}
}
