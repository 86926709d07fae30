package hotel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"loadstone.dev/stone/apps/hotel/data"
	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/service"
)

// maxAttempts bounds how often a booking starts over because another replica was first.
const maxAttempts = 50

// longestPause is about what a booking takes.
const longestPause = 10 * time.Millisecond

// reservation books rooms and never more than there are. The bookings of a hotel are numbered, and a
// unique index allows each number once: a booking is written under the number after the highest that
// it counted, so it is refused, and counted again, if another replica wrote one meanwhile. Within a
// replica the hotel's turnstile spares that. The cache only speeds things up.
type reservation struct {
	hotelpb.UnimplementedReservationServer
	stays      documents.Collection
	rooms      documents.Collection
	cache      *occupancyCache
	turnstiles turnstiles
	seeded     service.Memory[struct{}]
	quirks     bool
}

// stay is a data.Reservation with its number among those of the hotel.
type stay struct {
	HotelID      string `json:"hotelId"`
	CustomerName string `json:"customerName"`
	InDate       string `json:"inDate"`
	OutDate      string `json:"outDate"`
	Number       int    `json:"number"` // rooms
	Sequence     int    `json:"sequence"`
	Slot         string `json:"slot"` // "<hotel>/<sequence>", unique
}

func startReservation(ctx context.Context, host *service.Host) error {
	store, err := host.OpenDocuments(ctx)
	if err != nil {
		return err
	}
	cached, err := host.OpenCache("memcached-reserve")
	if err != nil {
		return err
	}
	r := &reservation{
		stays: data.Reservations.In(store), rooms: data.Rooms.In(store),
		cache: &occupancyCache{cached, host.Config.Quirks}, quirks: host.Config.Quirks,
	}
	r.seeded.Fill(host, "reservation data", func(ctx context.Context) (*struct{}, error) {
		if err := service.Filled(ctx, store, data.Rooms, data.Hotels); err != nil {
			return nil, err
		}
		return &struct{}{}, r.stays.EnsureIndex(ctx, "slot", true)
	})
	hotelpb.RegisterReservationServer(host.RPC, r)
	return nil
}

func (r *reservation) MakeReservation(ctx context.Context, request *hotelpb.ReservationRequest) (*hotelpb.HotelIds, error) {
	wanted, err := r.check(request)
	if err != nil {
		return nil, err
	}
	if len(request.HotelIds) != 1 {
		return nil, status.Errorf(codes.InvalidArgument, "one hotel is booked at a time, not %d", len(request.HotelIds))
	}
	id, rooms := request.HotelIds[0], int(request.RoomNumber)
	known := r.cache.occupancy(ctx, request.HotelIds, wanted)
	if err := r.addCapacities(ctx, request.HotelIds, known); err != nil {
		return nil, err
	}
	capacity, exists := known.capacity[id]
	if !exists {
		return nil, status.Errorf(codes.NotFound, "there is no hotel %q", id)
	}
	if !known.free(id, wanted, rooms, capacity) {
		return &hotelpb.HotelIds{}, nil
	}
	leave, err := r.turnstiles.enter(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	for range maxAttempts {
		booked, last, err := r.countStays(ctx, []string{id}, wanted)
		if err != nil {
			return nil, err
		}
		free := booked.free(id, wanted, rooms, capacity)
		if free {
			err = r.stays.Insert(ctx, stay{
				HotelID: id, CustomerName: request.CustomerName, InDate: request.InDate, OutDate: request.OutDate,
				Number: rooms, Sequence: last + 1, Slot: fmt.Sprintf("%s/%d", id, last+1),
			})
			if errors.Is(err, documents.ErrDuplicate) {
				// Two replicas that start over together go in step, and the same one may win each time.
				time.Sleep(rand.N(longestPause))
				continue
			}
			if err != nil {
				return nil, err
			}
			booked.add(id, wanted, rooms)
		}
		r.cache.setNights(ctx, id, wanted, booked)
		if !free {
			return &hotelpb.HotelIds{}, nil
		}
		return &hotelpb.HotelIds{HotelIds: request.HotelIds}, nil
	}
	return nil, status.Errorf(codes.Aborted, "hotel %q: %d bookings of others came first", id, maxAttempts)
}

func (r *reservation) CheckAvailability(ctx context.Context, request *hotelpb.ReservationRequest) (*hotelpb.HotelIds, error) {
	wanted, err := r.check(request)
	if err != nil {
		return nil, err
	}
	known := r.cache.occupancy(ctx, request.HotelIds, wanted)
	if !r.quirks {
		if err := r.addCapacities(ctx, request.HotelIds, known); err != nil {
			return nil, err
		}
		if err := r.addNights(ctx, request.HotelIds, wanted, known); err != nil {
			return nil, err
		}
	}
	answer := &hotelpb.HotelIds{}
	for _, id := range distinct(request.HotelIds) {
		capacity := known.capacity[id]
		// Quirk: the capacity is looked up under another key than it is stored, and so is 0; but only
		// nights with a count in the cache are compared with it. One booking makes a hotel look full.
		if r.quirks {
			capacity = 0
		}
		if known.free(id, wanted, int(request.RoomNumber), capacity) {
			answer.HotelIds = append(answer.HotelIds, id)
		}
	}
	return answer, nil
}

// check returns the nights that a request is about.
func (r *reservation) check(request *hotelpb.ReservationRequest) ([]night, error) {
	if _, err := r.seeded.Get(); err != nil {
		return nil, err
	}
	if request.RoomNumber < 1 {
		return nil, status.Errorf(codes.InvalidArgument, "%d rooms; 1 or more can be booked", request.RoomNumber)
	}
	wanted, err := nights(request.InDate, request.OutDate)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return wanted, nil
}

// addCapacities adds those capacities that are not known, from the store, and caches them.
func (r *reservation) addCapacities(ctx context.Context, ids []string, known *occupancy) error {
	missing := known.withoutCapacity(ids)
	if len(missing) == 0 {
		return nil
	}
	var counts []data.RoomCount
	query := documents.Query{Where: []documents.Condition{documents.In("hotelId", missing)}}
	if err := r.rooms.Find(ctx, &counts, query); err != nil {
		return err
	}
	for _, count := range counts {
		known.capacity[count.HotelID] = count.NumberOfRoom
		r.cache.Set(ctx, capacityKey(count.HotelID), strconv.AppendInt(nil, int64(count.NumberOfRoom), 10))
	}
	return nil
}

// addNights adds the counts of those nights that are not known, from the store, and caches them.
func (r *reservation) addNights(ctx context.Context, ids []string, wanted []night, known *occupancy) error {
	missing := known.withoutNights(ids, wanted)
	if len(missing) == 0 {
		return nil
	}
	counted, _, err := r.countStays(ctx, missing, wanted)
	if err != nil {
		return err
	}
	for _, id := range missing {
		r.cache.addNights(ctx, id, wanted, known, counted)
	}
	return nil
}

// countStays counts, from the store, the rooms taken in each wanted night of each of the hotels, and
// finds the highest sequence number among them.
func (r *reservation) countStays(ctx context.Context, ids []string, wanted []night) (*occupancy, int, error) {
	var stays []stay
	query := documents.Query{Where: []documents.Condition{documents.In("hotelId", ids)}}
	if err := r.stays.Find(ctx, &stays, query); err != nil {
		return nil, 0, err
	}
	counted := newOccupancy()
	for _, id := range ids {
		counted.add(id, wanted, 0)
	}
	last := 0
	for _, one := range stays {
		last = max(last, one.Sequence)
		for _, night := range wanted {
			if one.InDate <= night.date && night.date < one.OutDate { // ISO dates order as texts
				counted.taken[hotelNight{one.HotelID, night.date}] += one.Number
			}
		}
	}
	return counted, last, nil
}
