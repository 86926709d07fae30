package data

// Review is a guest's opinion of a hotel.
type Review struct {
	ReviewID    string  `json:"reviewId"`
	HotelID     string  `json:"hotelId"`
	Name        string  `json:"name"`
	Rating      float64 `json:"rating"` // of 5
	Description string  `json:"description"`
	Image       Image   `json:"images"` // one, though the published name is plural
}

// Restaurant is a place to eat near a hotel.
type Restaurant struct {
	RestaurantID string  `json:"restaurantId"`
	Lat          float64 `json:"lat"`
	Lon          float64 `json:"lon"`
	Name         string  `json:"name"`
	Rating       float64 `json:"rating"` // of 5
	Type         string  `json:"type"`
}

// Museum is a museum near a hotel.
type Museum struct {
	MuseumID string  `json:"museumId"`
	Lat      float64 `json:"lat"`
	Lon      float64 `json:"lon"`
	Name     string  `json:"name"`
	Type     string  `json:"type"`
}

// Cinema is a cinema near a hotel.
type Cinema struct {
	CinemaID string  `json:"cinemaId"`
	Lat      float64 `json:"lat"`
	Lon      float64 `json:"lon"`
	Name     string  `json:"name"`
	Type     string  `json:"type"`
}

// AllReviews lists six reviews: that four are of hotel 1 and two of hotel 2 is published, the text is ours.
func AllReviews() []Review {
	picture := func(id string) Image { return Image{URL: "images/review-" + id + ".jpg"} }
	return []Review{
		{"1", "1", "Mary", 4.5, "Large room, kind staff, a little loud at night.", picture("1")},
		{"2", "1", "John", 3.0, "Good place, slow lifts.", picture("2")},
		{"3", "1", "Ines", 5.0, "We will come back for the breakfast alone.", picture("3")},
		{"4", "1", "Tariq", 4.0, "Close to everything that I came for.", picture("4")},
		{"5", "2", "Wen", 4.5, "The view from the upper floors is worth its price.", picture("5")},
		{"6", "2", "Olga", 2.5, "The bar below was open until two.", picture("6")},
	}
}

// AllHotelPoints is where hotels 1 to 6 stand: attractions knows no others, as published.
func AllHotelPoints() []Point { return AllPoints()[:len(firstHotels)] }

// AllRestaurants lists six restaurants (the count is published, the rest is ours).
func AllRestaurants() []Restaurant {
	return []Restaurant{
		{"1", 37.7872, -122.4088, "The Union Table", 4.5, "Californian"},
		{"2", 37.7849, -122.4034, "Yerba Kitchen", 4.0, "Mexican"},
		{"3", 37.7951, -122.4072, "Golden Lantern", 4.5, "Chinese"},
		{"4", 37.7996, -122.4090, "Trattoria Columbus", 3.5, "Italian"},
		{"5", 37.7812, -122.4115, "Market Street Grill", 3.0, "Barbecue"},
		{"6", 37.7856, -122.4297, "Post and Buchanan", 4.0, "Japanese"},
	}
}

// AllMuseums lists six museums (the count is published, the rest is ours).
func AllMuseums() []Museum {
	return []Museum{
		{"1", 37.7857, -122.4011, "Museum of Modern Art", "art"},
		{"2", 37.7802, -122.4163, "Asian Art Museum", "art"},
		{"3", 37.7699, -122.4661, "Academy of Sciences", "science"},
		{"4", 37.7947, -122.4115, "Cable Car Museum", "technology"},
		{"5", 37.8017, -122.3973, "Exploratorium", "science"},
		{"6", 37.7865, -122.4016, "Museum of the African Diaspora", "history"},
	}
}

// AllCinemas lists six cinemas, all ours.
//
// Quirk: the published application has none, so that a search for them reads an empty collection.
func AllCinemas(quirks bool) []Cinema {
	if quirks {
		return nil
	}
	return []Cinema{
		{"1", 37.7846, -122.4035, "Metreon", "multiplex"},
		{"2", 37.7849, -122.4327, "Kabuki", "multiplex"},
		{"3", 37.7833, -122.4197, "The Great Star Screen", "revival"},
		{"4", 37.7621, -122.4350, "Castro", "revival"},
		{"5", 37.7642, -122.4212, "Roxie", "independent"},
		{"6", 37.7836, -122.4183, "Tenderloin Picture House", "independent"},
	}
}
