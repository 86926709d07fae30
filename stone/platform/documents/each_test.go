package documents_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"loadstone.dev/stone/platform/documents"
)

func eachVisitsEveryDocument(t *testing.T, c documents.Collection) {
	visits := 0
	count := func(func(any) error) error { visits++; return nil }
	check(t, c.Each(t.Context(), count))
	if visits != 0 {
		t.Errorf("%d visits to an absent collection", visits)
	}
	const many = 2500 // more than a batch of either driver
	var want []entry
	check(t, c.Load(t.Context(), func(yield func(documents.Keyed) bool) {
		for i := range int64(many) {
			want = append(want, entry{1<<62 + i, 0.1})
			held := timeline{User: i, Posts: want[i : i+1], Note: "note"}
			if !yield(documents.Keyed{Key: fmt.Sprint(i), Document: held}) {
				return
			}
		}
	}))
	for fields, note := range map[string]string{"": "note", "posts": ""} {
		var got []entry
		read := func(decode func(any) error) error {
			var held timeline
			if err := decode(&held); err != nil {
				return err
			}
			if held.Note != note || fields != "" && held.User != 0 {
				t.Fatalf("fields %q: %+v", fields, held)
			}
			got = append(got, held.Posts...)
			return nil
		}
		if fields == "" {
			check(t, c.Each(t.Context(), read))
		} else {
			check(t, c.Each(t.Context(), read, fields))
		}
		slices.SortFunc(got, func(a, b entry) int { return int(a.Post - b.Post) })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("fields %q: %d posts, want the %d that were loaded", fields, len(got), many)
		}
	}
}

func eachStopsAtAnError(t *testing.T, c documents.Collection) {
	putRooms(t, c)
	enough, visits := errors.New("enough"), 0
	err := c.Each(t.Context(), func(func(any) error) error {
		visits++
		return enough
	})
	if !errors.Is(err, enough) || visits != 1 {
		t.Errorf("%v after %d visits", err, visits)
	}
	wantCount(t, c, len(rooms)) // the connection is free again
	if err := c.Each(t.Context(), nil, "a.b"); err == nil {
		t.Error("a.b is taken for a field name")
	}
}
