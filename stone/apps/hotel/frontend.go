package hotel

import (
	"context"
	_ "embed"
	"net/http"
	"net/url"
	"strconv"

	"google.golang.org/grpc"

	hotelpb "loadstone.dev/stone/apps/hotel/proto"
	"loadstone.dev/stone/platform/service"
)

//go:embed index.html
var indexPage []byte

const failedLogin = "Failed. Please check your username and password. "

// frontend is the HTTP API. Every parameter is in the query string, whatever the method.
type frontend struct {
	search         hotelpb.SearchClient
	profile        hotelpb.ProfileClient
	recommendation hotelpb.RecommendationClient
	user           hotelpb.UserClient
	reservation    hotelpb.ReservationClient
	review         hotelpb.ReviewClient
	attractions    hotelpb.AttractionsClient
	quirks         bool
}

func startFrontend(_ context.Context, host *service.Host) error {
	f := frontend{quirks: host.Config.Quirks}
	for need, use := range map[string]func(grpc.ClientConnInterface){
		"search":         func(c grpc.ClientConnInterface) { f.search = hotelpb.NewSearchClient(c) },
		"profile":        func(c grpc.ClientConnInterface) { f.profile = hotelpb.NewProfileClient(c) },
		"recommendation": func(c grpc.ClientConnInterface) { f.recommendation = hotelpb.NewRecommendationClient(c) },
		"user":           func(c grpc.ClientConnInterface) { f.user = hotelpb.NewUserClient(c) },
		"reservation":    func(c grpc.ClientConnInterface) { f.reservation = hotelpb.NewReservationClient(c) },
		"review":         func(c grpc.ClientConnInterface) { f.review = hotelpb.NewReviewClient(c) },
		"attractions":    func(c grpc.ClientConnInterface) { f.attractions = hotelpb.NewAttractionsClient(c) },
	} {
		connection, err := host.Dial(need)
		if err != nil {
			return err
		}
		use(connection)
	}
	web := newWeb(host.Log)
	host.HTTP = http.NewServeMux()
	host.HTTP.HandleFunc("/hotels", web.serve(f.hotels))
	host.HTTP.HandleFunc("/recommendations", web.serve(f.recommendations))
	host.HTTP.HandleFunc("/user", web.serve(f.login))
	host.HTTP.HandleFunc("/reservation", web.serve(f.reserve))
	host.HTTP.HandleFunc("/review", web.serve(f.reviews))
	host.HTTP.HandleFunc("/restaurants", web.serve(f.near("restaurants", "Restaurants", f.attractions.NearbyRest)))
	host.HTTP.HandleFunc("/museums", web.serve(f.near("museums", "Museums", f.attractions.NearbyMus)))
	host.HTTP.HandleFunc("/cinema", web.serve(f.near("cinemas", "Cinemas", f.attractions.NearbyCinema)))
	host.HTTP.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(indexPage)
	})
	return nil
}

func (f *frontend) hotels(ctx context.Context, query url.Values) (any, error) {
	inDate, outDate, err := stayParams(query)
	if err != nil {
		return nil, err
	}
	lat, lon, err := locationParams(query)
	if err != nil {
		return nil, err
	}
	nearby, err := f.search.Nearby(ctx, &hotelpb.SearchRequest{
		Lat: float32(lat), Lon: float32(lon), InDate: inDate, OutDate: outDate,
	})
	if err != nil {
		return nil, err
	}
	available, err := f.reservation.CheckAvailability(ctx, &hotelpb.ReservationRequest{
		HotelIds: nearby.HotelIds, InDate: inDate, OutDate: outDate, RoomNumber: 1,
	})
	if err != nil {
		return nil, err
	}
	return f.describe(ctx, available.HotelIds, query)
}

func (f *frontend) recommendations(ctx context.Context, query url.Values) (any, error) {
	lat, lon, err := locationParams(query)
	if err != nil {
		return nil, err
	}
	require := query.Get("require")
	if require != "dis" && require != "rate" && require != "price" {
		return nil, badRequest("Please specify require params")
	}
	found, err := f.recommendation.GetRecommendations(ctx, &hotelpb.RecommendationRequest{
		Require: require, Lat: lat, Lon: lon,
	})
	if err != nil {
		return nil, err
	}
	return f.describe(ctx, found.HotelIds, query)
}

func (f *frontend) describe(ctx context.Context, ids []string, query url.Values) (any, error) {
	profiles, err := f.profile.GetProfiles(ctx, &hotelpb.ProfilesRequest{HotelIds: ids, Locale: localeParam(query)})
	if err != nil {
		return nil, err
	}
	return geoJSON(profiles.Hotels), nil
}

func (f *frontend) login(ctx context.Context, query url.Values) (any, error) {
	who, err := credentialParams(query)
	if err != nil {
		return nil, err
	}
	result, err := f.user.CheckUser(ctx, who)
	if err != nil {
		return nil, err
	}
	if !result.Correct {
		return message(failedLogin), nil
	}
	return message("Login successfully!"), nil
}

func (f *frontend) reserve(ctx context.Context, query url.Values) (any, error) {
	inDate, outDate, err := stayParams(query)
	if err != nil {
		return nil, err
	}
	hotelID, err := hotelParam(query)
	if err != nil {
		return nil, err
	}
	customer, err := textParam(query, "customerName", "Please specify customerName params")
	if err != nil {
		return nil, err
	}
	who, err := credentialParams(query)
	if err != nil {
		return nil, err
	}
	rooms, err := roomsParam(query)
	if err != nil {
		return nil, err
	}
	user, err := f.user.CheckUser(ctx, who)
	if err != nil {
		return nil, err
	}
	// Quirk: rooms are booked whatever the credentials; only the message tells.
	if !user.Correct && !f.quirks {
		return message(failedLogin), nil
	}
	booked, err := f.reservation.MakeReservation(ctx, &hotelpb.ReservationRequest{
		CustomerName: customer, HotelIds: []string{hotelID}, InDate: inDate, OutDate: outDate, RoomNumber: rooms,
	})
	switch {
	case err != nil:
		return nil, err
	case len(booked.HotelIds) == 0:
		return message("Failed. Already reserved. "), nil
	case !user.Correct:
		return message(failedLogin), nil
	}
	return message("Reserve successfully!"), nil
}

func (f *frontend) reviews(ctx context.Context, query url.Values) (any, error) {
	return f.aboutHotel(ctx, query, "reviews", "Reviews", func(request *hotelpb.HotelRequest) (int, error) {
		found, err := f.review.GetReviews(ctx, request)
		return len(found.GetReviews()), err
	})
}

// near answers how many attractions of a kind a hotel has nearby.
func (f *frontend) near(kind, title string,
	find func(context.Context, *hotelpb.HotelRequest, ...grpc.CallOption) (*hotelpb.AttractionIds, error)) endpoint {
	return func(ctx context.Context, query url.Values) (any, error) {
		return f.aboutHotel(ctx, query, kind, title, func(request *hotelpb.HotelRequest) (int, error) {
			found, err := find(ctx, request)
			return len(found.GetAttractionIds()), err
		})
	}
}

func (f *frontend) aboutHotel(ctx context.Context, query url.Values, kind, title string,
	count func(*hotelpb.HotelRequest) (int, error)) (any, error) {
	who, err := credentialParams(query)
	if err != nil {
		return nil, err
	}
	hotelID, err := hotelParam(query)
	if err != nil {
		return nil, err
	}
	user, err := f.user.CheckUser(ctx, who)
	if err != nil {
		return nil, err
	}
	// Quirk: the credentials are checked and the result is ignored.
	if !user.Correct && !f.quirks {
		return message(failedLogin), nil
	}
	number, err := count(&hotelpb.HotelRequest{HotelId: hotelID})
	if err != nil {
		return nil, err
	}
	if number == 0 {
		return message("Failed. No " + title + ". "), nil
	}
	return message("Have " + kind + " = " + strconv.Itoa(number)), nil
}

func message(text string) any { return map[string]string{"message": text} }
