// Package data is what the stores of Hotel Reservation hold: document types, where they are kept
// and what they are seeded with.
//
// The seed follows the published application: the names of databases and collections, how many
// documents there are, and every value that decides what a request does (positions of hotels 7 to
// 80, rates, rooms, users, dates). Where only a count or a kind is published, the values are our
// own and the comment says so; they lie around San Francisco, outside the region that the
// workload's searches cover, and so change no result of a search.
package data

import "loadstone.dev/stone/platform/documents"

// Hotels is how many hotels there are; their ids are "1" to "80".
const Hotels = 80

// Where each service keeps its documents.
var (
	GeoPoints       = documents.Location{Service: "geo", Database: "geo-db", Collection: "geo"}
	Profiles        = documents.Location{Service: "profile", Database: "profile-db", Collection: "hotels"}
	RatePlans       = documents.Location{Service: "rate", Database: "rate-db", Collection: "inventory"}
	Recommendations = documents.Location{Service: "recommendation", Database: "recommendation-db", Collection: "recommendation"}
	Reservations    = documents.Location{Service: "reservation", Database: "reservation-db", Collection: "reservation"}
	Nights          = documents.Location{Service: "reservation", Database: "reservation-db", Collection: "night"} // ours
	Rooms           = documents.Location{Service: "reservation", Database: "reservation-db", Collection: "number"}
	Users           = documents.Location{Service: "user", Database: "user-db", Collection: "user"}
	Reviews         = documents.Location{Service: "review", Database: "review-db", Collection: "reviews"}
	HotelPoints     = documents.Location{Service: "attractions", Database: "attractions-db", Collection: "hotels"}
	Restaurants     = documents.Location{Service: "attractions", Database: "attractions-db", Collection: "restaurants"}
	Museums         = documents.Location{Service: "attractions", Database: "attractions-db", Collection: "museums"}
	Cinemas         = documents.Location{Service: "attractions", Database: "attractions-db", Collection: "cinemas"}
)
