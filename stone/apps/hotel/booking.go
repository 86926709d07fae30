package hotel

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"loadstone.dev/stone/apps/hotel/data"
	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/documents"
)

// releaseTimeout bounds giving rooms back after a request that may have been cancelled.
const releaseTimeout = 2 * time.Second

// MakeReservation books rooms for a stay, and never more than there are: the store itself adds to the rooms that are taken
// in a night, unless the hotel has too few, in one step for all replicas. The cache only spares bookings that cannot
// succeed.
//
// A stay whose later night is full gives back the nights before it. Until then those look taken to others; and rooms stay
// taken by a booking that failed halfway, because a store that does not answer may still have stored it.
func (r *reservation) MakeReservation(ctx context.Context, request *hotelpb.ReservationRequest) (*hotelpb.HotelIds, error) {
	wanted, err := r.check(request)
	if err != nil {
		return nil, err
	}
	if len(request.HotelIds) != 1 {
		return nil, status.Errorf(codes.InvalidArgument, "one hotel is booked at a time, not %d", len(request.HotelIds))
	}
	id, rooms := request.HotelIds[0], int(request.RoomNumber)
	capacity, free, err := r.mayFit(ctx, id, wanted, rooms)
	if err != nil || !free {
		return &hotelpb.HotelIds{}, err
	}
	if taken, err := r.take(ctx, id, wanted, rooms, capacity); err != nil || !taken {
		return &hotelpb.HotelIds{}, err
	}
	for _, night := range wanted {
		r.cache.Increment(ctx, r.cache.nightKey(id, night), uint64(rooms))
	}
	return &hotelpb.HotelIds{HotelIds: request.HotelIds}, r.stays.Insert(ctx, data.Reservation{
		HotelID: id, CustomerName: request.CustomerName, InDate: request.InDate, OutDate: request.OutDate, Number: rooms,
	})
}

// mayFit reads, as published, for each night how many rooms are taken and how many there are: the cache, then the store.
//
// A count that the cache did not hold is put there before the booking takes rooms, unless another did so meanwhile, and is
// raised once all nights are taken. So the cache is never given a count with a booking that is under way, and as long as
// it loses nothing it never holds more than is booked. With more it would refuse bookings that the store has room for.
func (r *reservation) mayFit(ctx context.Context, id string, wanted []night, rooms int) (capacity int, free bool, err error) {
	missed := make(map[night]int)
	for _, night := range wanted {
		taken, cached := r.cache.number(ctx, r.cache.nightKey(id, night))
		if !cached {
			if taken, err = r.taken(ctx, id, night); err != nil {
				return 0, false, err
			}
			missed[night] = taken
		}
		if capacity, err = r.capacity(ctx, id); err != nil || taken+rooms > capacity {
			return 0, false, err
		}
	}
	for _, night := range wanted {
		if taken, is := missed[night]; is {
			r.cache.addNight(ctx, id, night, taken)
		}
	}
	return capacity, true, nil
}

// taken is how many rooms of a hotel the store says are taken in a night.
func (r *reservation) taken(ctx context.Context, id string, night night) (int, error) {
	var count data.Night
	err := r.nights.Get(ctx, &count, documents.Equal("night", data.NightOf(id, night.date)))
	if errors.Is(err, documents.ErrNotFound) {
		err = nil
	}
	return count.Rooms, err
}

// capacity is how many rooms a hotel has, from the cache or from the store.
func (r *reservation) capacity(ctx context.Context, id string) (int, error) {
	if held, cached := r.cache.number(ctx, capacityKey(id)); cached {
		return held, nil
	}
	var count data.RoomCount
	err := r.rooms.Get(ctx, &count, documents.Equal("hotelId", id))
	if errors.Is(err, documents.ErrNotFound) {
		return 0, status.Errorf(codes.NotFound, "there is no hotel %q", id)
	}
	if err == nil {
		r.cache.Set(ctx, capacityKey(id), strconv.AppendInt(nil, int64(count.NumberOfRoom), 10))
	}
	return count.NumberOfRoom, err
}

// take takes rooms in every night, or in none.
func (r *reservation) take(ctx context.Context, id string, wanted []night, rooms, capacity int) (taken bool, err error) {
	for i, night := range wanted {
		taken, err = r.nights.AddWithin(ctx, at(id, night), "rooms", int64(rooms), int64(capacity))
		if err == nil && taken {
			continue
		}
		r.release(ctx, id, wanted[:i], rooms)
		if err != nil {
			return false, err
		}
		return false, r.correct(ctx, id, night)
	}
	return true, nil
}

// correct puts the cache right about a night that it says has room and the store says has none. Bookings that are under
// way explain that, too: only stays count, each of which is stored after it was added to the cache. A cache that holds
// less than those has missed some.
func (r *reservation) correct(ctx context.Context, id string, night night) error {
	var stays []data.Reservation
	query := documents.Query{Where: []documents.Condition{documents.Equal("hotelId", id)}}
	if err := r.stays.Find(ctx, &stays, query); err != nil {
		return err
	}
	booked := 0
	for _, one := range stays {
		if one.InDate <= night.date && night.date < one.OutDate { // ISO dates order as texts
			booked += one.Number
		}
	}
	key := r.cache.nightKey(id, night)
	if held, cached := r.cache.number(ctx, key); cached && held < booked {
		r.cache.Set(ctx, key, strconv.AppendInt(nil, int64(booked), 10))
	}
	return nil
}

// release gives rooms back, also if the caller has gone away.
func (r *reservation) release(ctx context.Context, id string, nights []night, rooms int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for _, night := range nights {
		if _, err := r.nights.AddWithin(ctx, at(id, night), "rooms", -int64(rooms), noLimit); err != nil {
			r.failures.Warn("rooms stay taken", "hotel", id, "night", night.date, "rooms", rooms, "error", err.Error())
		}
	}
}

// noLimit is above all that a night can have.
const noLimit = 1 << 40

func at(id string, night night) documents.Condition {
	return documents.Equal("night", data.NightOf(id, night.date))
}
