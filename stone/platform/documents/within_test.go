package documents_test

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"loadstone.dev/stone/platform/documents"
)

// tally is a number that calls add to.
type tally struct {
	Night string `json:"night"`
	Rooms int64  `json:"rooms"`
}

func addWithinStopsAtTheLimit(t *testing.T, c documents.Collection) {
	for _, step := range []struct {
		amount, limit int64
		added         bool
		then          int64
	}{
		{11, 10, false, 0}, // makes nothing
		{4, 10, true, 4},
		{6, 10, true, 10},
		{1, 10, false, 10},
		{-3, 10, true, 7},
		{4, 10, false, 7},
		{4, 11, true, 11},
		{-1, 5, false, 11}, // still above
		{1 << 60, math.MaxInt64, true, 1<<60 + 11},
	} {
		added, err := c.AddWithin(t.Context(), documents.Equal("night", "1"), "rooms", step.amount, step.limit)
		if err != nil || added != step.added {
			t.Errorf("%+v: %v, %v", step, added, err)
		}
		var now tally
		err = c.Get(t.Context(), &now, documents.Equal("night", "1"))
		if absent := errors.Is(err, documents.ErrNotFound); now.Rooms != step.then || absent != (step.then == 0) {
			t.Errorf("%+v: now %+v, %v", step, now, err)
		}
	}
	wantCount(t, c, 1)
}

func addWithinKeepsTheRestOfTheDocument(t *testing.T, c documents.Collection) {
	check(t, c.EnsureIndex(t.Context(), "id", true))
	check(t, c.Insert(t.Context(), rooms[0], rooms[1]))
	added, err := c.AddWithin(t.Context(), documents.Equal("id", rooms[0].ID), "hotel", 5, 100)
	var now room
	check(t, c.Get(t.Context(), &now, documents.Equal("id", rooms[0].ID)))
	if want := rooms[0].Hotel + 5; !added || err != nil || now.Hotel != want || now.Rate != rooms[0].Rate || len(now.Tags) != 2 {
		t.Errorf("%v, %v: %+v", added, err, now)
	}
	wantCount(t, c, 2)
}

// Of many that want the last places exactly as many get one as there are, also where the document is not there yet.
func concurrentAddsStayWithinTheLimit(t *testing.T, c documents.Collection) {
	const nights, callers, limit = 5, 12, 7
	for night := range nights {
		var added atomic.Int64
		var calling sync.WaitGroup
		for range callers {
			calling.Go(func() {
				one, err := c.AddWithin(t.Context(), documents.Equal("night", string(rune('a'+night))), "rooms", 1, limit)
				if err != nil {
					t.Error(err)
				}
				if one {
					added.Add(1)
				}
			})
		}
		calling.Wait()
		if added.Load() != limit {
			t.Errorf("%d were added within %d", added.Load(), limit)
		}
	}
	wantCount(t, c, nights, documents.Equal("rooms", limit))
}

func addWithinRefusesWrongArguments(t *testing.T, c documents.Collection) {
	for field, at := range map[string]documents.Condition{
		"rooms": documents.In("night", []string{"1", "2"}), "a.b": documents.Equal("night", "1"),
	} {
		if _, err := c.AddWithin(t.Context(), at, field, 1, 1); err == nil {
			t.Errorf("%s at %v: no error", field, at)
		}
	}
	_, err := c.AddWithin(t.Context(), documents.Equal("night", "\x00"), "rooms", 1, 1)
	wantUnstorable(t, "condition on night", err)
}
