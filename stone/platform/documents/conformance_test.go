package documents_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/servertest"
)

// room is a document with every kind of field that an application uses.
type room struct {
	ID     string   `json:"id"`
	Hotel  int64    `json:"hotel"`
	Rate   float64  `json:"rate"`
	Smoker bool     `json:"smoker"`
	Bed    bed      `json:"bed"`
	Tags   []string `json:"tags"`
}

type bed struct {
	Width int `json:"width"`
}

var rooms = []room{
	{"1", 1, 109.5, false, bed{90}, []string{"sea", "quiet"}},
	{"2", 1, 99, true, bed{140}, []string{}},
	{"3", 1 << 53, 232.25, false, bed{160}, []string{"it's \"good\""}},
	{"10", 3, 150, true, bed{180}, []string{}},
}

// TestConformance is the meaning of the interface: each adapter passes it on a real server.
func TestConformance(t *testing.T) {
	servers := map[string]func(testing.TB) string{"postgres": servertest.Postgres, "mongo": servertest.Mongo}
	behaviours := map[string]func(*testing.T, documents.Collection){
		"AbsentCollectionIsEmpty":     absentCollectionIsEmpty,
		"ReadsBackWhatWasPut":         readsBackWhatWasPut,
		"PutIsIdempotentAndReplaces":  putIsIdempotentAndReplaces,
		"EqualIsExactAndTyped":        equalIsExactAndTyped,
		"ConditionsAreJoinedByAnd":    conditionsAreJoinedByAnd,
		"InFindsAnyOf":                inFindsAnyOf,
		"OrderAndLimit":               orderAndLimit,
		"InsertAddsUnderNewKeys":      insertAddsUnderNewKeys,
		"UniqueIndexForbidsAnother":   uniqueIndexForbidsAnother,
		"ClearKeepsIndexes":           clearKeepsIndexes,
		"RefusesWhatIsNotAFieldName":  refusesWhatIsNotAFieldName,
		"ConcurrentFirstWritesAllWin": concurrentFirstWritesAllWin,
		"InsertIsAllOrNothing":        insertIsAllOrNothing,
		// arrays_test.go
		"PushPutsInFront":                 pushPutsInFront,
		"PushKeepsTheRestOfTheDocument":   pushKeepsTheRestOfTheDocument,
		"PushOnceIsOnce":                  pushOnceIsOnce,
		"ConcurrentPushesLoseNothing":     concurrentPushesLoseNothing,
		"ConcurrentPushesOfTheSameAreOne": concurrentPushesOfTheSameAreOne,
		"PullRemovesEveryMatch":           pullRemovesEveryMatch,
		"PullBesidePushLosesNothing":      pullBesidePushLosesNothing,
		"HeadCutsTheArray":                headCutsTheArray,
		"ArraysRefuseWrongArguments":      arraysRefuseWrongArguments,
		// bulk_test.go
		"LoadPutsEveryDocument":        loadPutsEveryDocument,
		"LoadReportsWhatIsWrong":       loadReportsWhatIsWrong,
		"LoadHoldsFew":                 loadHoldsFew,
		"RestoreBringsBackWhatWasKept": restoreBringsBackWhatWasKept,
		"KeepReplacesTheCopy":          keepReplacesTheCopy,
		"KeepsNothingAsNothing":        keepsNothingAsNothing,
		"RefusesWrongMarks":            refusesWrongMarks,
		// each_test.go
		"EachVisitsEveryDocument": eachVisitsEveryDocument,
		"EachStopsAtAnError":      eachStopsAtAnError,
		// replace_test.go
		"ReplaceWritesOverOne":         replaceWritesOverOne,
		"ReplaceOfWhatChangedIsNone":   replaceOfWhatChangedIsNone,
		"ReplaceKeepsTheUniqueIndexes": replaceKeepsTheUniqueIndexes,
		"ReadsOn":                      readsOn,
		// within_test.go
		"AddWithinStopsAtTheLimit":           addWithinStopsAtTheLimit,
		"AddWithinKeepsTheRestOfTheDocument": addWithinKeepsTheRestOfTheDocument,
		"ConcurrentAddsStayWithinTheLimit":   concurrentAddsStayWithinTheLimit,
		"AddWithinRefusesWrongArguments":     addWithinRefusesWrongArguments,
		// exact_test.go
		"NumbersAreExact":           numbersAreExact,
		"TextIsExact":               textIsExact,
		"RefusesWhatCannotBeStored": refusesWhatCannotBeStored,
	}
	for adapter, server := range servers {
		t.Run(adapter, func(t *testing.T) {
			address := server(t)
			store := open(t, address)
			for name, behaviour := range behaviours {
				t.Run(name, func(t *testing.T) {
					// A name that needs quoting in SQL, one collection a behaviour.
					behaviour(t, store.Collection(`hotel-db`, `Rooms "`+name+`"`))
				})
			}
			t.Run("DatabasesAreApart", func(t *testing.T) { databasesAreApart(t, store) })
			t.Run("CopiesAreApart", func(t *testing.T) { copiesAreApart(t, store) })
			t.Run("HeadStaysSmall", func(t *testing.T) { headStaysSmall(t, address) })
		})
	}
}

func open(t *testing.T, address string) documents.Store {
	t.Helper()
	store, err := documents.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, store.Close(context.Background())) })
	check(t, store.Ping(t.Context()))
	return store
}

func absentCollectionIsEmpty(t *testing.T, c documents.Collection) {
	wantCount(t, c, 0)
	var found []room
	check(t, c.Find(t.Context(), &found, documents.Query{}))
	if len(found) != 0 {
		t.Errorf("found %v, want none", found)
	}
	if err := c.Get(t.Context(), &room{}, documents.Equal("id", "1")); !errors.Is(err, documents.ErrNotFound) {
		t.Errorf("Get: %v, want ErrNotFound", err)
	}
	check(t, c.Clear(t.Context()))
}

func readsBackWhatWasPut(t *testing.T, c documents.Collection) {
	putRooms(t, c)
	for _, want := range rooms {
		var got room
		check(t, c.Get(t.Context(), &got, documents.Equal("id", want.ID)))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func putIsIdempotentAndReplaces(t *testing.T, c documents.Collection) {
	putRooms(t, c)
	putRooms(t, c)
	changed := rooms[0]
	changed.Rate = 1
	check(t, c.Put(t.Context(), documents.Keyed{Key: changed.ID, Document: changed}))
	check(t, c.Put(t.Context()))
	wantCount(t, c, len(rooms))
	wantIDs(t, c, documents.Query{Where: []documents.Condition{documents.Equal("rate", 1)}}, "1")
}

func equalIsExactAndTyped(t *testing.T, c documents.Collection) {
	putRooms(t, c)
	for _, example := range []struct {
		condition documents.Condition
		want      int
	}{
		{documents.Equal("id", "1"), 1},
		{documents.Equal("id", 1), 0},
		{documents.Equal("hotel", 1), 2},
		{documents.Equal("hotel", 1.0), 2},
		{documents.Equal("hotel", "1"), 0},
		{documents.Equal("hotel", int64(1<<53)), 1},
		{documents.Equal("hotel", int64(1<<53+1)), 0},
		{documents.Equal("smoker", true), 2},
		{documents.Equal("rate", 109.5), 1},
		{documents.Equal("absent", "1"), 0},
		{documents.Equal("id", `'; DROP TABLE x; --`), 0},
	} {
		wantCount(t, c, example.want, example.condition)
	}
}

func conditionsAreJoinedByAnd(t *testing.T, c documents.Collection) {
	putRooms(t, c)
	wantCount(t, c, 1, documents.Equal("hotel", 1), documents.Equal("smoker", true))
	wantCount(t, c, 0, documents.Equal("id", "1"), documents.Equal("id", "2"))
	wantCount(t, c, 1, documents.In("id", []string{"1", "2"}), documents.In("id", []string{"2", "3"}))
}

func inFindsAnyOf(t *testing.T, c documents.Collection) {
	putRooms(t, c)
	query := func(ids ...string) documents.Query {
		return documents.Query{Where: []documents.Condition{documents.In("id", ids)}, OrderBy: "id"}
	}
	wantIDs(t, c, query("3", "1", "9", "1"), "1", "3")
	wantIDs(t, c, query("2"), "2")
	wantIDs(t, c, query())
	wantCount(t, c, 3, documents.In("hotel", []int{1, 3}))
}

func orderAndLimit(t *testing.T, c documents.Collection) {
	putRooms(t, c)
	wantIDs(t, c, documents.Query{OrderBy: "rate"}, "2", "1", "10", "3")
	wantIDs(t, c, documents.Query{OrderBy: "rate", Descending: true, Limit: 2}, "3", "10")
	wantIDs(t, c, documents.Query{OrderBy: "id"}, "1", "10", "2", "3")
}

func insertAddsUnderNewKeys(t *testing.T, c documents.Collection) {
	check(t, c.Insert(t.Context(), rooms[0]))
	check(t, c.Insert(t.Context(), rooms[0]))
	putRooms(t, c)
	wantCount(t, c, 3, documents.Equal("id", "1"))
}

func insertIsAllOrNothing(t *testing.T, c documents.Collection) {
	check(t, c.EnsureIndex(t.Context(), "id", true))
	check(t, c.Insert(t.Context()))
	wantCount(t, c, 0)
	check(t, c.Insert(t.Context(), rooms[0], &rooms[1]))
	if err := c.Insert(t.Context(), rooms[2], rooms[1], rooms[3]); !errors.Is(err, documents.ErrDuplicate) {
		t.Errorf("Insert: %v, want ErrDuplicate", err)
	}
	wantIDs(t, c, documents.Query{OrderBy: "id"}, "1", "2")
}

func uniqueIndexForbidsAnother(t *testing.T, c documents.Collection) {
	for range 2 {
		check(t, c.EnsureIndex(t.Context(), "id", true))
		check(t, c.EnsureIndex(t.Context(), "hotel", false))
	}
	putRooms(t, c)
	putRooms(t, c)
	if err := c.Insert(t.Context(), rooms[0]); !errors.Is(err, documents.ErrDuplicate) {
		t.Errorf("Insert: %v, want ErrDuplicate", err)
	}
	other := documents.Keyed{Key: "another", Document: rooms[0]}
	if err := c.Put(t.Context(), other); !errors.Is(err, documents.ErrDuplicate) {
		t.Errorf("Put under another key: %v, want ErrDuplicate", err)
	}
	wantCount(t, c, len(rooms))
}

func clearKeepsIndexes(t *testing.T, c documents.Collection) {
	check(t, c.EnsureIndex(t.Context(), "id", true))
	putRooms(t, c)
	check(t, c.Clear(t.Context()))
	wantCount(t, c, 0)
	check(t, c.Insert(t.Context(), rooms[0]))
	if err := c.Insert(t.Context(), rooms[0]); !errors.Is(err, documents.ErrDuplicate) {
		t.Errorf("Insert after Clear: %v, want ErrDuplicate", err)
	}
}

func refusesWhatIsNotAFieldName(t *testing.T, c documents.Collection) {
	for _, field := range []string{"", "a.b", "$where", "a' OR 'a'='a"} {
		errs := map[string]error{
			"EnsureIndex": c.EnsureIndex(t.Context(), field, false),
			"Get":         c.Get(t.Context(), &room{}, documents.Equal(field, "1")),
			"Find":        c.Find(t.Context(), &[]room{}, documents.Query{Where: []documents.Condition{{Field: field}}}),
		}
		if field != "" {
			errs["OrderBy"] = c.Find(t.Context(), &[]room{}, documents.Query{OrderBy: field})
		}
		for operation, err := range errs {
			if err == nil || errors.Is(err, documents.ErrNotFound) {
				t.Errorf("%s accepts %q as a field name: %v", operation, field, err)
			}
		}
	}
}

func concurrentFirstWritesAllWin(t *testing.T, c documents.Collection) {
	const writers = 12
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			if err := c.EnsureIndex(t.Context(), "id", true); err != nil {
				t.Error(err)
			}
			if err := c.Insert(t.Context(), room{ID: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	wantCount(t, c, writers)
}

func databasesAreApart(t *testing.T, store documents.Store) {
	putRooms(t, store.Collection("one", "rooms"))
	wantCount(t, store.Collection("one", "rooms"), len(rooms))
	wantCount(t, store.Collection("two", "rooms"), 0)
}

func TestOpenRefusesOtherAddresses(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:5432", "mysql://127.0.0.1", "postgres://127.0.0.1:port/x", "mongodb://"} {
		if store, err := documents.Open(t.Context(), address); err == nil {
			t.Errorf("%q: opened %v, want an error", address, store)
		}
	}
}

func putRooms(t *testing.T, c documents.Collection) {
	t.Helper()
	items := make([]documents.Keyed, len(rooms))
	for i, one := range rooms {
		items[i] = documents.Keyed{Key: one.ID, Document: one}
	}
	check(t, c.Put(t.Context(), items...))
}

func wantCount(t *testing.T, c documents.Collection, want int, where ...documents.Condition) {
	t.Helper()
	got, err := c.Count(t.Context(), where...)
	check(t, err)
	if got != want {
		t.Errorf("count %+v = %d, want %d", where, got, want)
	}
}

func wantIDs(t *testing.T, c documents.Collection, query documents.Query, want ...string) {
	t.Helper()
	var found []room
	check(t, c.Find(t.Context(), &found, query))
	got := make([]string, 0, len(found))
	for _, one := range found {
		got = append(got, one.ID)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("find %+v = %v, want %v", query, got, want)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
