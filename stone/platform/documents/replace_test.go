package documents_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"loadstone.dev/stone/platform/documents"
)

func replaceWritesOverOne(t *testing.T, c documents.Collection) {
	if replaced, err := c.Replace(t.Context(), rooms[0], documents.Equal("id", "1")); replaced || err != nil {
		t.Errorf("in an absent collection: %v, %v", replaced, err)
	}
	check(t, c.Insert(t.Context(), rooms[0], rooms[1]))
	changed := rooms[0]
	changed.Rate, changed.Tags = 12.5, []string{"new"}
	for _, id := range []string{"1", "none"} {
		replaced, err := c.Replace(t.Context(), changed, documents.Equal("id", id), documents.Equal("smoker", false))
		if err != nil || replaced != (id == "1") {
			t.Errorf("%s: %v, %v", id, replaced, err)
		}
	}
	var found []room
	check(t, c.Find(t.Context(), &found, documents.Query{OrderBy: "id"}))
	if want := []room{changed, rooms[1]}; fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", found, want)
	}
	if _, err := c.Replace(t.Context(), room{ID: "\x00"}, documents.Equal("id", "1")); !errors.Is(err, documents.ErrUnstorable) {
		t.Errorf("a document that cannot be stored: %v", err)
	}
}

// Several count at the same time, each from what it read: none of them is lost.
func replaceOfWhatChangedIsNone(t *testing.T, c documents.Collection) {
	const callers, each = 5, 10
	check(t, c.Insert(t.Context(), room{ID: "counter"}))
	var counting sync.WaitGroup
	for range callers {
		counting.Go(func() {
			for done := 0; done < each; {
				var now room
				if err := c.Get(t.Context(), &now, documents.Equal("id", "counter")); err != nil {
					t.Error(err)
					return
				}
				next := now
				next.Hotel++
				replaced, err := c.Replace(t.Context(), next, documents.Equal("id", "counter"), documents.Equal("hotel", now.Hotel))
				if err != nil {
					t.Error(err)
					return
				}
				if replaced {
					done++
				}
			}
		})
	}
	counting.Wait()
	var last room
	check(t, c.Get(t.Context(), &last, documents.Equal("id", "counter")))
	if last.Hotel != callers*each {
		t.Errorf("counted to %d, want %d", last.Hotel, callers*each)
	}
}

func replaceKeepsTheUniqueIndexes(t *testing.T, c documents.Collection) {
	check(t, c.EnsureIndex(t.Context(), "id", true))
	check(t, c.Insert(t.Context(), rooms[0], rooms[1]))
	if _, err := c.Replace(t.Context(), rooms[1], documents.Equal("id", "1")); !errors.Is(err, documents.ErrDuplicate) {
		t.Errorf("got %v", err)
	}
}

func readsOn(t *testing.T, c documents.Collection) {
	for i := range 7 {
		check(t, c.Insert(t.Context(), room{ID: string(rune('a' + i)), Hotel: int64(i), Smoker: i != 3}))
	}
	check(t, c.EnsureIndex(t.Context(), "id", true))
	smokers := []documents.Condition{documents.Equal("smoker", true)}
	for _, example := range []struct {
		query documents.Query
		want  string
	}{
		{documents.Query{OrderBy: "id", Limit: 3}, "abc"},
		{documents.Query{OrderBy: "id", Limit: 3, After: "c"}, "def"},
		{documents.Query{OrderBy: "id", Limit: 3, After: "bb"}, "cde"},
		{documents.Query{OrderBy: "id", After: "g"}, ""},
		{documents.Query{OrderBy: "id", After: "c", Where: smokers}, "efg"},
		{documents.Query{OrderBy: "hotel", After: 4}, "fg"},
		{documents.Query{OrderBy: "id", After: "c", Descending: true}, "ba"},
	} {
		var found []room
		check(t, c.Find(t.Context(), &found, example.query))
		got := ""
		for _, one := range found {
			got += one.ID
		}
		if got != example.want {
			t.Errorf("%+v: got %q, want %q", example.query, got, example.want)
		}
	}
	var found []room
	if err := c.Find(t.Context(), &found, documents.Query{OrderBy: "id", After: "\x00"}); !errors.Is(err, documents.ErrUnstorable) {
		t.Errorf("got %v", err)
	}
}
