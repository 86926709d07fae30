package hotel

import (
	"context"
	"strconv"
	"sync"

	"loadstone.dev/stone/platform/service"
)

// occupancy is what is known of hotels: how many rooms they have and how many are taken at night.
type occupancy struct {
	capacity map[string]int
	taken    map[hotelNight]int
}

type hotelNight struct{ hotel, date string }

func newOccupancy() *occupancy {
	return &occupancy{make(map[string]int), make(map[hotelNight]int)}
}

// free says whether no night is known to lack the rooms.
func (o *occupancy) free(id string, nights []night, rooms, capacity int) bool {
	for _, night := range nights {
		if taken, known := o.taken[hotelNight{id, night.date}]; known && taken+rooms > capacity {
			return false
		}
	}
	return true
}

func (o *occupancy) add(id string, nights []night, rooms int) {
	for _, night := range nights {
		o.taken[hotelNight{id, night.date}] += rooms
	}
}

func (o *occupancy) withoutCapacity(ids []string) (missing []string) {
	for _, id := range ids {
		if _, known := o.capacity[id]; !known {
			missing = append(missing, id)
		}
	}
	return missing
}

func (o *occupancy) withoutNights(ids []string, nights []night) (missing []string) {
	for _, id := range ids {
		for _, night := range nights {
			if _, known := o.taken[hotelNight{id, night.date}]; !known {
				missing = append(missing, id)
				break
			}
		}
	}
	return missing
}

// occupancyCache keeps occupancy in memcached: "<hotel>_cap" and "<hotel>_<night>_<day after>", in
// decimal.
type occupancyCache struct {
	*service.Cached
	quirks bool
}

func capacityKey(id string) string { return id + "_cap" }

// nightKey names a night by both its days.
//
// Quirk: by the day after, twice.
func (c *occupancyCache) nightKey(id string, night night) string {
	if c.quirks {
		return id + "_" + night.after + "_" + night.after
	}
	return id + "_" + night.date + "_" + night.after
}

// occupancy returns what the cache knows of hotels and nights.
//
// Quirk: ids come more than once, and are asked for as often.
func (c *occupancyCache) occupancy(ctx context.Context, ids []string, nights []night) *occupancy {
	keys := make([]string, 0, len(ids)*(len(nights)+1))
	for _, id := range ids {
		keys = append(keys, capacityKey(id))
		for _, night := range nights {
			keys = append(keys, c.nightKey(id, night))
		}
	}
	held := c.Get(ctx, keys)
	known := newOccupancy()
	next := 0
	number := func() (int, bool) {
		value, hit := held[keys[next]]
		next++
		count, err := strconv.Atoi(string(value))
		return count, hit && err == nil
	}
	for _, id := range ids {
		if count, hit := number(); hit {
			known.capacity[id] = count
		}
		for _, night := range nights {
			if count, hit := number(); hit {
				known.taken[hotelNight{id, night.date}] = count
			}
		}
	}
	return known
}

// setNights stores the counts of a hotel after a look at its store.
func (c *occupancyCache) setNights(ctx context.Context, id string, nights []night, counted *occupancy) {
	for _, night := range nights {
		c.Set(ctx, c.nightKey(id, night), strconv.AppendInt(nil, int64(counted.taken[hotelNight{id, night.date}]), 10))
	}
}

// addNights takes over counts that were not known and stores them, unless a booking was faster: its
// count is the newer.
func (c *occupancyCache) addNights(ctx context.Context, id string, nights []night, known, counted *occupancy) {
	for _, night := range nights {
		at := hotelNight{id, night.date}
		if _, have := known.taken[at]; have {
			continue
		}
		known.taken[at] = counted.taken[at]
		c.Add(ctx, c.nightKey(id, night), strconv.AppendInt(nil, int64(counted.taken[at]), 10))
	}
}

// turnstiles let one booking of a hotel through at a time. The zero value is ready.
type turnstiles struct{ byHotel sync.Map }

// enter waits its turn or for the end of the context; the caller calls leave.
func (t *turnstiles) enter(ctx context.Context, id string) (leave func(), err error) {
	made, _ := t.byHotel.LoadOrStore(id, make(chan struct{}, 1))
	gate := made.(chan struct{})
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
