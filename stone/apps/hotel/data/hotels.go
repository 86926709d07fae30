package data

import (
	"math"
	"strconv"
)

// Point is where a hotel stands (geo and attractions).
type Point struct {
	HotelID string  `json:"hotelId"`
	Lat     float64 `json:"lat"`
	Lon     float64 `json:"lon"`
}

// Profile describes a hotel.
type Profile struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	PhoneNumber string  `json:"phoneNumber"`
	Description string  `json:"description"`
	Address     Address `json:"address"`
	Images      []Image `json:"images"`
}

// Address is a hotel's postal address and position.
type Address struct {
	StreetNumber string  `json:"streetNumber"`
	StreetName   string  `json:"streetName"`
	City         string  `json:"city"`
	State        string  `json:"state"`
	Country      string  `json:"country"`
	PostalCode   string  `json:"postalCode"`
	Lat          float64 `json:"lat"`
	Lon          float64 `json:"lon"`
}

// Image is a picture of a hotel or of a review.
type Image struct {
	URL     string `json:"url"`
	Default bool   `json:"default"`
}

// firstHotels are hotels 1 to 6. That they are hand-written San Francisco hotels, the first three
// names and the neighbourhood are published; the rest is ours.
var firstHotels = []Profile{
	sanFrancisco("Clift Hotel", "(415) 555-0101", "495", "Geary Street", "94102", 37.7867, -122.4112,
		"Art and high ceilings, two streets from Union Square."),
	sanFrancisco("W San Francisco", "(415) 555-0102", "181", "3rd Street", "94103", 37.7854, -122.4005,
		"A tower beside the museums of Yerba Buena, with a bar that stays open late."),
	sanFrancisco("Hotel Zetta", "(415) 555-0103", "55", "5th Street", "94103", 37.7835, -122.4071,
		"Games in the lobby and large desks in the rooms."),
	sanFrancisco("Hotel Nikko", "(415) 555-0104", "222", "Mason Street", "94102", 37.7857, -122.4098,
		"Quiet rooms and a swimming pool under a glass roof."),
	sanFrancisco("Palace Hotel", "(415) 555-0105", "2", "New Montgomery Street", "94105", 37.7880, -122.4020,
		"Breakfast under the glass dome of the garden court."),
	sanFrancisco("Phoenix Hotel", "(415) 555-0106", "601", "Eddy Street", "94109", 37.7827, -122.4182,
		"A motor lodge around a courtyard, where touring bands stay."),
}

func sanFrancisco(name, phone, number, street, code string, lat, lon float64, description string) Profile {
	return Profile{Name: name, PhoneNumber: phone, Description: description, Address: Address{
		StreetNumber: number, StreetName: street, City: "San Francisco", State: "CA",
		Country: "United States", PostalCode: code, Lat: lat, Lon: lon}}
}

// AllProfiles describes every hotel in order. Positions, name and phone number of hotels 7 to 80
// are published; their description and address are ours, as are all images.
func AllProfiles() []Profile {
	profiles := make([]Profile, 0, Hotels)
	for number := 1; number <= Hotels; number++ {
		var one Profile
		if number <= len(firstHotels) {
			one = firstHotels[number-1]
		} else {
			one = sanFrancisco("St. Regis San Francisco", "(415) 284-40"+strconv.Itoa(number),
				"125", "3rd Street", "94103",
				decimal(37.7835+float64(number)*0.006), decimal(-122.41+float64(number)*0.008),
				"Forty storeys above the museum quarter, with a spa and a view over the bay.")
		}
		one.ID = strconv.Itoa(number)
		one.Images = []Image{{URL: "images/hotel-" + one.ID + ".jpg", Default: true}}
		profiles = append(profiles, one)
	}
	return profiles
}

// decimal drops what binary arithmetic adds behind the fourth place.
func decimal(degrees float64) float64 { return math.Round(degrees*1e4) / 1e4 }

// AllPoints says where every hotel stands, in order.
func AllPoints() []Point {
	points := make([]Point, 0, Hotels)
	for _, profile := range AllProfiles() {
		points = append(points, Point{profile.ID, profile.Address.Lat, profile.Address.Lon})
	}
	return points
}
