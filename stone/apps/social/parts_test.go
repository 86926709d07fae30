package social_test

import (
	"slices"
	"sync"
	"testing"

	idl "loadstone.dev/stone/apps/social/idl/social"
	"loadstone.dev/stone/platform/servertest"
)

// What a post is composed of, over real stores.
func TestParts(t *testing.T) {
	for name, store := range map[string]func(testing.TB) string{"postgres": servertest.Postgres, "mongo": servertest.Mongo} {
		t.Run(name, func(t *testing.T) {
			a := startAppOn(t, "", store)
			for id := range int64(3) {
				a.register(id)
			}
			for name, test := range map[string]func(*testing.T, *app){
				"ids": testIDs, "media": testMedia, "URLs": testURLs, "mentions": testMentions, "texts": testTexts,
				"registrations": testRegistrations, "registrations at once": testRegistrationsAtOnce,
				"logins": testLogins, "names and ids": testNamesAndIDs,
			} {
				t.Run(name, func(t *testing.T) { test(t, a) })
			}
		})
	}
}

func TestPartsWithQuirks(t *testing.T) {
	a := startApp(t, "dsb-quirks")
	for id := range int64(3) {
		a.register(id)
	}
	for name, test := range map[string]func(*testing.T, *app){
		"texts": testTextsWithQuirks, "mentions": testMentionsWithQuirks, "URLs": testURLsWithQuirks, "accounts": testAccountsWithQuirks,
	} {
		t.Run(name, func(t *testing.T) { test(t, a) })
	}
}

func testIDs(t *testing.T, a *app) {
	const askers, each = 4, 100
	ids := make([][]int64, askers)
	service := a.uniqueIDs()
	var all sync.WaitGroup
	for asker := range askers {
		all.Go(func() {
			for i := range each {
				id, err := service.ComposeUniqueId(t.Context(), 1, idl.PostType(i%4), nil)
				if err != nil {
					t.Error(err)
				}
				ids[asker] = append(ids[asker], id)
			}
		})
	}
	all.Wait()
	together := slices.Sorted(slices.Values(slices.Concat(ids...)))
	if len(slices.Compact(together)) != askers*each || together[0] <= 0 {
		t.Errorf("%d different ids of %d, the least %d", len(together), askers*each, together[0])
	}
	for _, own := range ids {
		if !slices.IsSorted(own) {
			t.Error("a later id is less than an earlier one")
		}
	}
}

func testMedia(t *testing.T, a *app) {
	media, err := a.media().ComposeMedia(t.Context(), 1, []string{"png", "mp4"}, []int64{1<<62 + 1, 2}, nil)
	if err != nil || len(media) != 2 || *media[0] != (idl.Media{MediaID: 1<<62 + 1, MediaType: "png"}) || *media[1] != (idl.Media{MediaID: 2, MediaType: "mp4"}) {
		t.Errorf("%v, %v", media, err)
	}
	if media, err := a.media().ComposeMedia(t.Context(), 1, nil, nil, nil); err != nil || len(media) != 0 {
		t.Errorf("of nothing: %v, %v", media, err)
	}
	_, err = a.media().ComposeMedia(t.Context(), 1, []string{"png"}, nil, nil)
	expectException(t, err, idl.ErrorCode_SE_INVALID, "media: 1 types for 0 ids")
}
