package documents_test

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"

	"loadstone.dev/stone/platform/documents"
)

func loadPutsEveryDocument(t *testing.T, c documents.Collection) {
	const many = 2500 // more than two batches
	check(t, c.Load(t.Context(), slices.Values([]documents.Keyed{})))
	wantCount(t, c, 0)
	check(t, c.EnsureIndex(t.Context(), "user", true))
	check(t, c.Put(t.Context(), documents.Keyed{Key: "7", Document: timeline{User: 7, Note: "old"}}))
	for _, note := range []string{"new", "newer"} {
		check(t, c.Load(t.Context(), timelines(many, note)))
		wantCount(t, c, many)
		wantCount(t, c, many, documents.Equal("note", note))
	}
	for _, user := range []int64{0, 7, many - 1} {
		wantTimeline(t, c, timeline{user, []entry{{1<<62 + user, 0.1}}, "newer"})
	}
}

func loadReportsWhatIsWrong(t *testing.T, c documents.Collection) {
	check(t, c.EnsureIndex(t.Context(), "user", true))
	check(t, c.Insert(t.Context(), timeline{User: 7}))
	if err := c.Load(t.Context(), timelines(20, "")); !errors.Is(err, documents.ErrDuplicate) {
		t.Errorf("Load of a value that is there: %v, want ErrDuplicate", err)
	}
	read := 0
	err := c.Load(t.Context(), func(yield func(documents.Keyed) bool) {
		for item := range timelines(20, "a\x00") {
			read++
			if !yield(item) {
				return
			}
		}
	})
	wantUnstorable(t, `document 0.note: text "a\x00"`, err)
	wantUnstorable(t, "key: ", c.Load(t.Context(), slices.Values([]documents.Keyed{{Key: "\xff", Document: timeline{}}})))
	if read != 1 {
		t.Errorf("Load read %d documents, want only the wrong one", read)
	}
}

// loadHoldsFew counts the bytes that live while documents of 40 MiB pass.
func loadHoldsFew(t *testing.T, c documents.Collection) {
	const count, size, most = 40, 1 << 20, 20 << 20
	before, greatest := live(), uint64(0)
	check(t, c.Load(t.Context(), func(yield func(documents.Keyed) bool) {
		for i := range count {
			text := strings.Repeat(string(rune('a'+i%26)), size)
			if !yield(documents.Keyed{Key: fmt.Sprint(i), Document: timeline{User: int64(i), Note: text}}) {
				return
			}
			greatest = max(greatest, live())
		}
	}))
	wantCount(t, c, count)
	if greatest > before+most {
		t.Errorf("holds %d bytes above what there was, want at most %d", greatest-before, most)
	}
}

func live() uint64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}

func restoreBringsBackWhatWasKept(t *testing.T, c documents.Collection) {
	check(t, c.EnsureIndex(t.Context(), "user", true))
	check(t, c.EnsureIndex(t.Context(), "note", false))
	check(t, c.Load(t.Context(), timelines(30, "kept")))
	check(t, c.Keep(t.Context(), "of 30"))
	changes := []func() error{
		func() error { return nil },
		func() error { return c.Clear(t.Context()) },
		func() error { return c.Insert(t.Context(), timeline{User: 99}) },
		func() error {
			return c.Put(t.Context(), documents.Keyed{Key: "7", Document: timeline{User: 7, Note: "changed"}})
		},
		func() error { return c.Push(t.Context(), documents.Equal("user", 7), "posts", entry{}, "") },
	}
	for i, change := range changes {
		check(t, change())
		check(t, c.Restore(t.Context(), "of 30"))
		wantCount(t, c, 30)
		wantCount(t, c, 30, documents.Equal("note", "kept"))
		wantTimeline(t, c, timeline{7, []entry{{1<<62 + 7, 0.1}}, "kept"})
		if err := c.Insert(t.Context(), timeline{User: 7}); !errors.Is(err, documents.ErrDuplicate) {
			t.Errorf("change %d: Insert after Restore: %v, want ErrDuplicate", i, err)
		}
	}
	// The keys are the same too: Put replaces.
	check(t, c.Load(t.Context(), timelines(30, "again")))
	wantCount(t, c, 30, documents.Equal("note", "again"))
}

func keepReplacesTheCopy(t *testing.T, c documents.Collection) {
	check(t, c.Load(t.Context(), timelines(3, "")))
	check(t, c.Keep(t.Context(), "of 3"))
	check(t, c.Load(t.Context(), timelines(5, "")))
	check(t, c.Keep(t.Context(), "it's of 5"))
	check(t, c.Clear(t.Context()))
	wantNotKept(t, c, "of 3", `is of "it's of 5", not of "of 3"`)
	wantCount(t, c, 0)
	check(t, c.Restore(t.Context(), "it's of 5"))
	wantCount(t, c, 5)
}

func keepsNothingAsNothing(t *testing.T, c documents.Collection) {
	wantNotKept(t, c, "empty", "has no copy")
	check(t, c.Keep(t.Context(), "empty"))
	check(t, c.Insert(t.Context(), timeline{}))
	check(t, c.Restore(t.Context(), "empty"))
	wantCount(t, c, 0)
}

func refusesWrongMarks(t *testing.T, c documents.Collection) {
	for _, operation := range []func(string) error{
		func(mark string) error { return c.Keep(t.Context(), mark) },
		func(mark string) error { return c.Restore(t.Context(), mark) },
	} {
		if err := operation(""); err == nil || !strings.Contains(err.Error(), "the mark of a copy is empty") {
			t.Errorf("%v, want a complaint about the empty mark", err)
		}
		wantUnstorable(t, `mark: text "\x00"`, operation("\x00"))
	}
}

func copiesAreApart(t *testing.T, store documents.Store) {
	one, two := store.Collection("copies", "one"), store.Collection("copies", "two")
	check(t, one.Load(t.Context(), timelines(1, "")))
	check(t, two.Load(t.Context(), timelines(2, "")))
	check(t, one.Keep(t.Context(), "mark"))
	wantNotKept(t, two, "mark", "collection two has no copy")
	wantNotKept(t, store.Collection("elsewhere", "one"), "mark", "collection one has no copy")
	check(t, two.Keep(t.Context(), "mark"))
	for want, c := range []documents.Collection{0: nil, one, two} {
		if c != nil {
			check(t, c.Clear(t.Context()))
			check(t, c.Restore(t.Context(), "mark"))
			wantCount(t, c, want)
		}
	}
}

// timelines are documents of the users 0 to count-1, under their numbers.
func timelines(count int64, note string) iter.Seq[documents.Keyed] {
	return func(yield func(documents.Keyed) bool) {
		for user := range count {
			document := timeline{user, []entry{{1<<62 + user, 0.1}}, note}
			if !yield(documents.Keyed{Key: fmt.Sprint(user), Document: document}) {
				return
			}
		}
	}
}

func wantNotKept(t *testing.T, c documents.Collection, mark, message string) {
	t.Helper()
	err := c.Restore(t.Context(), mark)
	if !errors.Is(err, documents.ErrNotKept) || !strings.Contains(err.Error(), message) {
		t.Errorf("Restore %q: %v, want ErrNotKept with %q", mark, err, message)
	}
}
