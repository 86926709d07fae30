package hotel_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"loadstone.dev/stone/platform/apptest"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
	"loadstone.dev/stone/platform/servertest"
)

// book requests rooms of a hotel from one April day to another.
func (a *app) book(hotel, from, to, rooms int) answer {
	return a.get("/reservation", slices.Concat(credentials(1), []string{
		fmt.Sprintf("hotelId=%d", hotel), "customerName=Bob", fmt.Sprintf("number=%d", rooms),
		fmt.Sprintf("inDate=2015-04-%02d", from), fmt.Sprintf("outDate=2015-04-%02d", to),
	})...)
}

// offers says whether a search at hotel 30 (200 rooms) shows it for the nights.
func (a *app) offers(t *testing.T, from, to int) bool {
	t.Helper()
	return slices.Contains(a.get("/hotels", "lat=37.9635", "lon=-122.17",
		fmt.Sprintf("inDate=2015-04-%02d", from), fmt.Sprintf("outDate=2015-04-%02d", to)).ids(t), "30")
}

func TestNoNightIsOverbooked(t *testing.T) {
	a := startApp(t, "", servertest.Postgres)
	before := a.reservations()
	var successes, refusals atomic.Int64
	var group sync.WaitGroup
	for i := range 300 {
		group.Go(func() {
			// Stays of one to three nights that all share the night of the 12th.
			switch got := a.book(30, 10+i%3, 13, 1); got.body {
			case booked:
				successes.Add(1)
			case full:
				refusals.Add(1)
			default:
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	group.Wait()
	if successes.Load() != 200 || refusals.Load() != 100 {
		t.Errorf("of 300 bookings of 200 rooms %d succeeded and %d were refused", successes.Load(), refusals.Load())
	}
	if grown := a.reservations() - before; grown != 200 {
		t.Errorf("the store grew by %d reservations", grown)
	}
	if taken := a.taken(t, "30", "2015-04-12"); taken != 200 {
		t.Errorf("%d rooms are taken", taken)
	}
	if a.offers(t, 12, 13) || !a.offers(t, 13, 14) {
		t.Error("searches do not follow the bookings")
	}
	a.wantAgreement()
}

func TestOneOfManyGetsTheWholeHotel(t *testing.T) {
	a := startApp(t, "", servertest.Postgres)
	for day := 1; day <= 29; day++ {
		var successes atomic.Int64
		var group sync.WaitGroup
		for range 8 { // four for each replica
			group.Go(func() {
				if got := a.book(30, day, day+1, 200); got.body == booked {
					successes.Add(1)
				} else if got.body != full {
					t.Errorf("%d %s", got.status, got.body)
				}
			})
		}
		group.Wait()
		if successes.Load() != 1 {
			t.Errorf("night %d: all 200 rooms were booked %d times", day, successes.Load())
		}
	}
	a.wantAgreement()
}

// A cache that missed bookings offers a full hotel, until one tries to book it.
func TestACacheThatMissedBookingsIsPutRight(t *testing.T) {
	a := startApp(t, "", servertest.Postgres)
	if !a.offers(t, 12, 13) {
		t.Fatal("the hotel is not offered")
	}
	a.Links["memcached-reserve"].Cut()
	if got := a.book(30, 11, 13, 200); got.body != booked {
		t.Fatal(got.body)
	}
	a.Links["memcached-reserve"].Mend()
	apptest.Eventually(t, "the hotel is offered by an old count", func() bool { return a.offers(t, 12, 13) })
	apptest.Eventually(t, "it is not after a booking was refused", func() bool {
		if got := a.book(30, 12, 13, 1); got.body != full {
			t.Errorf("%d %s", got.status, got.body)
		}
		return !a.offers(t, 12, 13)
	})
	a.wantAgreement()
}

// Stays that overlap in every way, for rooms that do not suffice: what was refused left nothing taken, also to searches.
func TestRefusedStaysLeaveNothing(t *testing.T) {
	a := startApp(t, "", servertest.Postgres)
	var group sync.WaitGroup
	for i := range 60 {
		group.Go(func() {
			if got := a.book(30, 10+i%4, 11+i%4+i%3, 30); got.body != booked && got.body != full {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	group.Wait()
	a.wantAgreement()
	for day := 10; day < 17; day++ {
		night := fmt.Sprintf("2015-04-%02d", day)
		if offered, taken := a.offers(t, day, day+1), a.taken(t, "30", night); offered != (taken < 200) || taken > 200 {
			t.Errorf("%s: %d rooms are taken, offered: %v", night, taken, offered)
		}
	}
}

// taken counts the rooms of a hotel that the store says are taken at night.
func (a *app) taken(t *testing.T, hotel, night string) (rooms int) {
	t.Helper()
	store, err := documents.Open(t.Context(), a.Documents)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(t.Context())
	var stays []struct {
		InDate  string `json:"inDate"`
		OutDate string `json:"outDate"`
		Number  int    `json:"number"`
	}
	query := documents.Query{Where: []documents.Condition{documents.Equal("hotelId", hotel)}}
	if err := store.Collection("reservation-db", "reservation").Find(t.Context(), &stays, query); err != nil {
		t.Fatal(err)
	}
	for _, one := range stays {
		if one.InDate <= night && night < one.OutDate {
			rooms += one.Number
		}
	}
	return rooms
}

func TestBookingsAndSearchesAgree(t *testing.T) {
	a := startApp(t, "", servertest.Postgres)
	if !a.offers(t, 9, 15) {
		t.Fatal("an empty hotel is not offered")
	}
	for _, step := range []struct {
		from, to, rooms int
		want            string
	}{
		{10, 12, 150, booked},
		{11, 13, 51, full}, // 201 on the 11th
		{11, 13, 50, booked},
		{11, 12, 1, full},
		{12, 13, 150, booked},
		{9, 14, 1, full},
		{10, 11, 201, full},
		{10, 11, 50, booked},
	} {
		if got := a.book(30, step.from, step.to, step.rooms); got.body != step.want {
			t.Errorf("%+v: got %s", step, got.body)
		}
	}
	for _, search := range []struct {
		from, to int
		want     bool
	}{{9, 10, true}, {9, 11, false}, {10, 11, false}, {11, 12, false}, {12, 13, false}, {13, 15, true}} {
		if got := a.offers(t, search.from, search.to); got != search.want {
			t.Errorf("search %+v: offered %v", search, got)
		}
	}
	// The same from the store alone.
	a.Links["memcached-reserve"].Cut()
	if a.offers(t, 11, 12) || !a.offers(t, 13, 15) {
		t.Error("without the cache searches answer otherwise")
	}
	if got := a.book(30, 11, 12, 1); got.body != full {
		t.Errorf("without the cache: %s", got.body)
	}
	if got := a.book(30, 13, 14, 1); got.body != booked {
		t.Errorf("without the cache: %s", got.body)
	}
	a.Links["memcached-reserve"].Mend()
	// A reset under running services: everything is free again.
	if result := a.seed(seeding.Reset); !result.OK {
		t.Fatalf("reset: %+v", result)
	}
	if !a.offers(t, 10, 13) {
		t.Error("after the reset the hotel is not offered")
	}
	if got := a.book(30, 10, 13, 200); got.body != booked {
		t.Errorf("after the reset: %s", got.body)
	}
}
