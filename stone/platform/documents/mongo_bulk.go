package documents

import (
	"context"
	"errors"
	"iter"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// A batch of Load ends at whichever comes first.
const (
	batchDocuments = 1000
	batchBytes     = 4 << 20
)

// namespaceExists is the server's code for a collection that is there already.
const namespaceExists = 48

func (c *mongoCollection) Load(ctx context.Context, items iter.Seq[Keyed]) error {
	var batch []mongo.WriteModel
	held := 0
	for item := range items {
		write, size, err := replacement(item)
		if err != nil {
			return err
		}
		batch, held = append(batch, write), held+size
		if len(batch) == batchDocuments || held >= batchBytes {
			if err := c.writeAll(ctx, batch); err != nil {
				return err
			}
			batch, held = batch[:0], 0
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return c.writeAll(ctx, batch)
}

func (c *mongoCollection) Keep(ctx context.Context, mark string) error {
	if err := checkMark(mark); err != nil {
		return err
	}
	// Without its mark while it is made: half a copy is none.
	if _, err := c.marks().DeleteOne(ctx, c.markID()); err != nil {
		return translateMongo(err)
	}
	if err := c.copyTo(ctx, c.kept()); err != nil {
		return err
	}
	_, err := c.marks().ReplaceOne(ctx, c.markID(), bson.D{{Key: "mark", Value: mark}}, options.Replace().SetUpsert(true))
	return translateMongo(err)
}

func (c *mongoCollection) Restore(ctx context.Context, mark string) error {
	if err := checkMark(mark); err != nil {
		return err
	}
	var has struct{ Mark string }
	err := c.marks().FindOne(ctx, c.markID()).Decode(&has)
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return translateMongo(err)
	}
	if err := checkKept(c.collection.Name(), has.Mark, mark); err != nil {
		return err
	}
	indexes, err := c.collection.Indexes().ListSpecifications(ctx)
	if err != nil {
		return translateMongo(err)
	}
	copied := &mongoCollection{collection: c.kept()}
	if err := copied.copyTo(ctx, c.collection); err != nil {
		return err
	}
	return c.ensureAll(ctx, indexes)
}

// copyTo makes another collection's documents those of this one.
func (c *mongoCollection) copyTo(ctx context.Context, target *mongo.Collection) error {
	database, name := c.collection.Database(), c.collection.Name()
	var refused mongo.CommandError
	if err := database.CreateCollection(ctx, name); err != nil && !(errors.As(err, &refused) && refused.HasErrorCode(namespaceExists)) {
		return translateMongo(err) // $out does nothing without a source
	}
	// A field that no document has: a server that keeps documents in memory would else share them
	// between both collections.
	cursor, err := c.collection.Aggregate(ctx, mongo.Pipeline{
		{{Key: "$unset", Value: "__absent"}}, {{Key: "$out", Value: target.Name()}}})
	if err != nil {
		return translateMongo(err)
	}
	return translateMongo(cursor.Close(ctx))
}

// ensureAll makes the indexes again: MongoDB's $out keeps them, but not every server of its protocol does.
func (c *mongoCollection) ensureAll(ctx context.Context, indexes []mongo.IndexSpecification) error {
	for _, index := range indexes {
		field, err := index.KeysDocument.IndexErr(0)
		if err != nil {
			return translateMongo(err)
		}
		if field.Key() == "_id" {
			continue
		}
		if err := c.EnsureIndex(ctx, field.Key(), index.Unique != nil && *index.Unique); err != nil {
			return err
		}
	}
	return nil
}

// kept is the collection of the copy, marks the one that says of each copy of the database what it is of.
func (c *mongoCollection) kept() *mongo.Collection {
	return c.collection.Database().Collection(c.collection.Name() + "__kept")
}

func (c *mongoCollection) marks() *mongo.Collection {
	return c.collection.Database().Collection("__kept")
}

func (c *mongoCollection) markID() bson.D { return bson.D{{Key: "_id", Value: c.collection.Name()}} }
