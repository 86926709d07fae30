package hotel

import (
	"cmp"
	"math"
	"slices"
)

const earthRadiusKm = 6371.0

// What "near" means to geo and attractions.
const (
	nearbyKm    = 10
	nearbyLimit = 5
)

// places is an index of points on Earth: unit vectors, among which the squared chord orders by
// distance as the great circle does, without trigonometry at each point.
type places []place

type place struct {
	id string
	at [3]float64
}

func newPlace(id string, lat, lon float64) place { return place{id, unitVector(lat, lon)} }

func unitVector(lat, lon float64) [3]float64 {
	sinLat, cosLat := math.Sincos(lat * math.Pi / 180)
	sinLon, cosLon := math.Sincos(lon * math.Pi / 180)
	return [3]float64{cosLat * cosLon, cosLat * sinLon, sinLat}
}

func squaredChord(a, b [3]float64) float64 {
	x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	return x*x + y*y + z*z
}

// chordWithin is the squared chord that spans a distance on the ground.
func chordWithin(km float64) float64 {
	half := math.Sin(km / (2 * earthRadiusKm))
	return 4 * half * half
}

var nearbyChord = chordWithin(nearbyKm)

// nearby lists at most nearbyLimit places within nearbyKm of a point, nearest first.
func (p places) nearby(at [3]float64) []string {
	type candidate struct {
		id    string
		chord float64
	}
	var found []candidate
	for i := range p {
		if chord := squaredChord(at, p[i].at); chord <= nearbyChord {
			found = append(found, candidate{p[i].id, chord})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.chord, b.chord) })
	ids := make([]string, min(len(found), nearbyLimit))
	for i := range ids {
		ids[i] = found[i].id
	}
	return ids
}

// nearest lists the place nearest to a point, and all others if several are equally near.
func (p places) nearest(at [3]float64) []string {
	var ids []string
	best := math.Inf(1)
	for i := range p {
		chord := squaredChord(at, p[i].at)
		if chord < best {
			best, ids = chord, ids[:0]
		}
		if chord == best {
			ids = append(ids, p[i].id)
		}
	}
	return ids
}
