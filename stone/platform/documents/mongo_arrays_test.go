package documents

import (
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"loadstone.dev/stone/platform/servertest"
)

// TestMongoNullBecomesAnArray is of the way that Push takes where $push refuses a null, which not
// every server does.
func TestMongoNullBecomesAnArray(t *testing.T) {
	if !isNotAnArray(fmt.Errorf("push: %w", mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: badValue}}})) {
		t.Error("a write refused as a bad value is not taken for a null")
	}
	for _, err := range []error{nil, errors.New("other"), mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: 11000}}}} {
		if isNotAnArray(err) {
			t.Errorf("%v is taken for a null", err)
		}
	}
	store, err := openMongo(servertest.Mongo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close(t.Context()) }()
	type document struct {
		ID   int64   `json:"id"`
		List []int64 `json:"list"`
	}
	c := store.Collection("nulls", "nulls").(*mongoCollection)
	if err := c.Insert(t.Context(), document{ID: 1}, document{1 << 62, []int64{5}}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int64]string{1: "[]", 1 << 62: "[5]"} {
		if err := c.emptyNull(t.Context(), Equal("id", id), "list"); err != nil {
			t.Error(err)
		}
		var got document
		if err := c.Get(t.Context(), &got, Equal("id", id)); err != nil || got.List == nil || fmt.Sprint(got.List) != want {
			t.Errorf("document %d: list %#v, %v, want %s", id, got.List, err, want)
		}
	}
}
