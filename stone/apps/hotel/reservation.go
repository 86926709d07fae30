package hotel

import (
	"context"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"loadstone.dev/stone/apps/hotel/data"
	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/documents"
	"loadstone.dev/stone/platform/logging"
	"loadstone.dev/stone/platform/service"
)

// reservation books rooms (booking.go) and says which hotels have some.
type reservation struct {
	hotelpb.UnimplementedReservationServer
	stays  documents.Collection // what was booked
	nights documents.Collection // how many rooms are taken, by hotel and night
	rooms  documents.Collection // how many there are, by hotel
	cache  *occupancyCache
	seeded service.Memory[struct{}]
	quirks bool

	failures *logging.Limited
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
		stays: data.Reservations.In(store), nights: data.Nights.In(store), rooms: data.Rooms.In(store),
		cache: &occupancyCache{cached, host.Config.Quirks}, quirks: host.Config.Quirks,
		failures: logging.NewLimited(host.Log),
	}
	wantNights := len(data.AllNights())
	r.seeded.Fill(host, "reservation data", func(ctx context.Context) (*struct{}, error) {
		if err := service.Filled(ctx, store, data.Rooms, data.Hotels); err != nil {
			return nil, err
		}
		return &struct{}{}, service.Filled(ctx, store, data.Nights, wantNights)
	})
	hotelpb.RegisterReservationServer(host.RPC, r)
	return nil
}

// CheckAvailability returns those hotels that have the rooms in every night. As published, it reads the cache twice: for
// all capacities, then for all nights.
func (r *reservation) CheckAvailability(ctx context.Context, request *hotelpb.ReservationRequest) (*hotelpb.HotelIds, error) {
	wanted, err := r.check(request)
	if err != nil {
		return nil, err
	}
	known := newOccupancy()
	r.cache.capacities(ctx, request.HotelIds, known)
	r.cache.nights(ctx, request.HotelIds, wanted, known)
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
	missing := known.withoutCount(ids, wanted)
	if len(missing) == 0 {
		return nil
	}
	names := make([]string, len(missing))
	for i, one := range missing {
		names[i] = data.NightOf(one.hotel, one.date)
	}
	var counts []data.Night
	if err := r.nights.Find(ctx, &counts, documents.Query{Where: []documents.Condition{documents.In("night", names)}}); err != nil {
		return err
	}
	taken := make(map[string]int, len(counts))
	for _, one := range counts {
		taken[one.Night] = one.Rooms
	}
	for i, one := range missing {
		known.taken[one.hotelNight] = taken[names[i]]
		r.cache.addNight(ctx, one.hotel, one.night, taken[names[i]])
	}
	return nil
}
