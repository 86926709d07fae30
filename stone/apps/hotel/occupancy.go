package hotel

import (
	"context"
	"strconv"

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

func (o *occupancy) withoutCapacity(ids []string) (missing []string) {
	for _, id := range ids {
		if _, known := o.capacity[id]; !known {
			missing = append(missing, id)
		}
	}
	return missing
}

// missingNight is one whose count is not known.
type missingNight struct {
	hotelNight
	night night
}

func (o *occupancy) withoutCount(ids []string, nights []night) (missing []missingNight) {
	for _, id := range ids {
		for _, night := range nights {
			at := hotelNight{id, night.date}
			if _, known := o.taken[at]; !known {
				missing = append(missing, missingNight{at, night})
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

// capacities adds what the cache knows of hotels.
//
// Quirk: duplicate ids are read as often as they occur, here and for nights.
func (c *occupancyCache) capacities(ctx context.Context, ids []string, known *occupancy) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = capacityKey(id)
	}
	held := c.Get(ctx, keys)
	for i, id := range ids {
		if count, is := decimal(held, keys[i]); is {
			known.capacity[id] = count
		}
	}
}

// nights adds what the cache knows of hotels' nights.
func (c *occupancyCache) nights(ctx context.Context, ids []string, nights []night, known *occupancy) {
	keys := make([]string, 0, len(ids)*len(nights))
	for _, id := range ids {
		for _, night := range nights {
			keys = append(keys, c.nightKey(id, night))
		}
	}
	held := c.Get(ctx, keys)
	for i, id := range ids {
		for j, night := range nights {
			if count, is := decimal(held, keys[i*len(nights)+j]); is {
				known.taken[hotelNight{id, night.date}] = count
			}
		}
	}
}

// number reads one key.
func (c *occupancyCache) number(ctx context.Context, key string) (count int, cached bool) {
	return decimal(c.Get(ctx, []string{key}), key)
}

func decimal(held map[string][]byte, key string) (count int, is bool) {
	count, err := strconv.Atoi(string(held[key]))
	return count, err == nil
}

// addNight stores a count that was read from the store, unless there is one: that is the newer.
func (c *occupancyCache) addNight(ctx context.Context, id string, night night, taken int) {
	c.Add(ctx, c.nightKey(id, night), strconv.AppendInt(nil, int64(taken), 10))
}
