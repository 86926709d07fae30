package data

import "strconv"

// RatePlan is a price at which a hotel's rooms are sold.
type RatePlan struct {
	HotelID  string   `json:"hotelId"`
	Code     string   `json:"code"`
	InDate   string   `json:"inDate"` // YYYY-MM-DD, as every date
	OutDate  string   `json:"outDate"`
	RoomType RoomType `json:"roomType"`
}

// RoomType is what a rate plan sells, and its rates in Currency.
type RoomType struct {
	BookableRate       float64 `json:"bookableRate"`
	TotalRate          float64 `json:"totalRate"`
	TotalRateInclusive float64 `json:"totalRateInclusive"`
	Code               string  `json:"code"`
	Currency           string  `json:"currency"`
	RoomDescription    string  `json:"roomDescription"`
}

// Recommendation is what recommending a hotel is decided by.
type Recommendation struct {
	HotelID string  `json:"hotelId"`
	Lat     float64 `json:"lat"`
	Lon     float64 `json:"lon"`
	Rate    float64 `json:"rate"`
	Price   float64 `json:"price"`
}

// price is a rate without and with tax.
type price struct{ rate, inclusive float64 }

// cycle holds the published prices of hotels 7 to 80 that have a rate plan, by id modulo 5.
var cycle = []price{{109, 123.17}, {120, 140}, {124, 144}, {132, 158}, {232, 258}}

// firstRates holds those of hotels 1 to 3: the rates are published; the tax of 139 is ours, in
// proportion to the published one of 109.
var firstRates = []price{{109, 123.17}, {139, 157.07}, {109, 123.17}}

// firstRecommendations holds what hotels 1 to 6 are recommended by. Published is only the outcome:
// none has the highest rate (that is 232) and hotel 2 alone the lowest price.
var firstRecommendations = []price{
	{109, 131.50}, {139, 115.25}, {109, 127.90}, {125, 141.25}, {155, 175.15}, {185, 209.05},
}

// AllRatePlans lists the 27 plans: hotels 1 to 3 and, from 7 on, each whose id 3 divides. Published
// but for the room type's code and description.
func AllRatePlans() []RatePlan {
	var plans []RatePlan
	for number := 1; number <= Hotels; number++ {
		switch {
		case number <= len(firstRates):
			plans = append(plans, ratePlan(number, firstRates[number-1]))
		case hasCycleRate(number):
			plans = append(plans, ratePlan(number, cycle[number%len(cycle)]))
		}
	}
	return plans
}

func hasCycleRate(number int) bool { return number > len(firstHotels) && number%3 == 0 }

func ratePlan(number int, price price) RatePlan {
	until := "2015-04-24"
	if number%2 == 0 {
		until = "2015-04-17"
	}
	return RatePlan{HotelID: strconv.Itoa(number), Code: "RACK", InDate: "2015-04-09", OutDate: until,
		RoomType: RoomType{BookableRate: price.rate, TotalRate: price.rate, TotalRateInclusive: price.inclusive,
			Code: "KING", Currency: "USD", RoomDescription: "Room with a king-size bed"}}
}

// AllRecommendations lists every hotel in order. From hotel 7 on the values are published.
func AllRecommendations() []Recommendation {
	recommendations := make([]Recommendation, 0, Hotels)
	for i, point := range AllPoints() {
		number, chosen := i+1, price{135, 179}
		switch {
		case number <= len(firstRecommendations):
			chosen = firstRecommendations[i]
		case hasCycleRate(number):
			chosen = cycle[number%len(cycle)]
		}
		recommendations = append(recommendations,
			Recommendation{point.HotelID, point.Lat, point.Lon, chosen.rate, chosen.inclusive})
	}
	return recommendations
}
