package data

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/seeding"
)

const mostExamples = 5

// Check compares, night by night, the rooms that are counted as taken with those of all stays, and with the hotel's.
//
// A booking counts its rooms before it stores its stay, so that rooms may be counted of one that did not finish; no stay
// may lack its rooms, and no night may have more than the hotel has, whatever did not finish.
func (s Seed) Check(ctx context.Context, in *seeding.Opened) ([]seeding.Finding, error) {
	in.Progress.Begin("collections", 3)
	booked, taken, capacity := map[string]int{}, map[string]int{}, map[string]int{}
	err := cmp.Or(
		each(ctx, in, Reservations, func(stay Reservation) {
			for date := range stay.Nights() {
				booked[NightOf(stay.HotelID, date)] += stay.Number
			}
		}),
		each(ctx, in, Nights, func(night Night) { taken[night.Night] = night.Rooms }),
		each(ctx, in, Rooms, func(rooms RoomCount) { capacity[rooms.HotelID] = rooms.NumberOfRoom }),
	)
	if err != nil {
		return nil, err
	}
	return compare(booked, taken, capacity, in.Plan.Unfinished), nil
}

// each visits the documents of a collection.
func each[T any](ctx context.Context, in *seeding.Opened, at documents.Location, visit func(T)) error {
	err := in.Collection(at).Each(ctx, func(decode func(any) error) error {
		var one T
		err := decode(&one)
		visit(one)
		return err
	})
	in.Progress.Add(1)
	return seeding.At(at, err)
}

// compare takes rooms by night, and the hotels' by their ids.
func compare(booked, taken, capacity map[string]int, unfinished int) []seeding.Finding {
	counted := seeding.Finding{What: "nights whose stays are all counted", Examples: []string{}}
	owned := seeding.Finding{What: "nights of which only stays are counted", Examples: []string{}}
	within := seeding.Finding{What: "nights with no more rooms taken than there are", Examples: []string{}}
	all := maps.Clone(booked)
	maps.Copy(all, taken)
	for _, night := range slices.Sorted(maps.Keys(all)) {
		hotel, _, _ := strings.Cut(night, " ")
		note(&counted, taken[night] >= booked[night], "hotel and night %s: %d counted, %d booked", night, taken[night], booked[night])
		note(&owned, taken[night] <= booked[night], "hotel and night %s: %d counted, %d booked", night, taken[night], booked[night])
		most := max(taken[night], booked[night])
		note(&within, most <= capacity[hotel], "hotel and night %s: %d of %d", night, most, capacity[hotel])
	}
	counted.OK, within.OK = counted.Have == counted.Want, within.Have == within.Want
	owned.OK = owned.Want-owned.Have <= unfinished*MaxNights
	return []seeding.Finding{counted, owned, within}
}

// note counts one thing that should be right, and gives it as an example if it is not.
func note(finding *seeding.Finding, right bool, format string, arguments ...any) {
	finding.Want++
	switch {
	case right:
		finding.Have++
	case len(finding.Examples) < mostExamples:
		finding.Examples = append(finding.Examples, fmt.Sprintf(format, arguments...))
	}
}
