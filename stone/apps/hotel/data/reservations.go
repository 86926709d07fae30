package data

import (
	"iter"
	"strconv"
	"time"
)

// MaxNights bounds a stay, and with it the keys that one request reads from a cache.
const MaxNights = 366

// Reservation books rooms of a hotel for the nights from InDate until OutDate.
type Reservation struct {
	HotelID      string `json:"hotelId"`
	CustomerName string `json:"customerName"`
	InDate       string `json:"inDate"`
	OutDate      string `json:"outDate"`
	Number       int    `json:"number"` // rooms booked
}

// Nights are the dates on which the nights of a stay begin; none if its dates are not dates.
func (r Reservation) Nights() iter.Seq[string] {
	return func(yield func(string) bool) {
		date, errIn := time.Parse(time.DateOnly, r.InDate)
		end, errOut := time.Parse(time.DateOnly, r.OutDate)
		for ; errIn == nil && errOut == nil && date.Before(end); date = date.AddDate(0, 0, 1) {
			if !yield(date.Format(time.DateOnly)) {
				return
			}
		}
	}
}

// Night is how many rooms of a hotel are taken in a night, summed over its reservations.
type Night struct {
	Night string `json:"night"` // NightOf
	Rooms int    `json:"rooms"`
}

// NightOf names a hotel's night by the date on which it begins.
func NightOf(hotelID, date string) string { return hotelID + " " + date }

// RoomCount is how many rooms a hotel has.
type RoomCount struct {
	HotelID      string `json:"hotelId"`
	NumberOfRoom int    `json:"numberOfRoom"`
}

// AllReservations is the one published reservation that is there before any load.
func AllReservations() []Reservation {
	return []Reservation{{HotelID: "4", CustomerName: "Alice", InDate: "2015-04-09", OutDate: "2015-04-10", Number: 1}}
}

// AllNights counts the rooms that AllReservations takes.
func AllNights() []Night {
	var nights []Night
	for _, one := range AllReservations() {
		for date := range one.Nights() {
			nights = append(nights, Night{NightOf(one.HotelID, date), one.Number})
		}
	}
	return nights
}

// AllRoomCounts lists every hotel in order, as published.
func AllRoomCounts() []RoomCount {
	counts := make([]RoomCount, 0, Hotels)
	for number := 1; number <= Hotels; number++ {
		rooms := 200
		if number > len(firstHotels) {
			rooms = []int{200, 300, 250}[number%3]
		}
		counts = append(counts, RoomCount{strconv.Itoa(number), rooms})
	}
	return counts
}
